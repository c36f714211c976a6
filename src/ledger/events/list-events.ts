import type { Sql } from '../database.js';
import { exactly } from '../publication-deliveries/delivery-row.js';
import type { SchemaName } from '../schema-name.js';
import { type EventSelection, eventConditions } from './event-selection.js';

/** One effect of a listed event. */
export interface ListedEffect {
  /** As the plan recorded it. */
  readonly effect: string;
  readonly businessKey: string;
  /** How it has ended for this event; absent while it has not. */
  readonly outcome?: 'done' | 'already_done' | 'stale' | 'observed';
}

/** An event in a list. */
export interface ListedEvent {
  readonly tenant: string;
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly type: string;
  /** `parked` is an open event that waits for a person. */
  readonly state: 'open' | 'parked' | 'done' | 'dead_lettered' | 'abandoned' | 'ignored';
  readonly receivedAt: Date;
  readonly endedAt?: Date;
  /** Of its open dead letter. */
  readonly code?: string;
  readonly effects: readonly ListedEffect[];
}

/** The place of an event in the order of a list: the time of its first delivery, and its key. */
export type EventPlace = readonly [at: string, eventKey: string];

interface Row {
  tenant: string;
  event_key: string;
  source: string;
  event_id: string;
  type: string;
  state: Exclude<ListedEvent['state'], 'parked'>;
  received_at: Date;
  ended_at: Date | null;
  at: string;
  code: string | null;
  parked: boolean | null;
  effects: string | null;
}

/**
 * Lists events of a tenant, those received last first.
 *
 * @param page `after`: place of the last one of the page before.
 */
export async function listEvents(
  sql: Sql,
  schema: SchemaName,
  selection: EventSelection,
  page: { readonly after?: EventPlace; readonly limit: number },
): Promise<readonly { readonly event: ListedEvent; readonly place: EventPlace }[]> {
  const { where, values } = eventConditions(schema, selection, {
    // Said twice, since an index is entered by a plain bound only.
    'e.received_at <= ?': page.after?.[0],
    '(e.received_at < ? OR e.event_key > ?)': page.after,
  });
  const { rows } = await sql<Row>(
    `SELECT e.tenant, e.event_key, e.source, e.event_id, e.type, e.state, e.received_at, e.ended_at,
            ${exactly('e.received_at')} AS at, l.code, l.parked,
            (SELECT json_agg(json_build_object('effect', k.effect, 'businessKey', k.business_key, 'outcome', k.outcome)
                             ORDER BY k.effect)
             FROM ${schema}.event_effects k WHERE k.tenant = e.tenant AND k.event_key = e.event_key)::text AS effects
     FROM ${schema}.events e
     LEFT JOIN ${schema}.dead_letters l ON l.tenant = e.tenant AND l.event_key = e.event_key AND l.closed_at IS NULL
     WHERE ${where}
     ORDER BY e.received_at DESC, e.event_key LIMIT $${values.length + 1}`,
    [...values, page.limit],
  );
  return rows.map((row) => ({ event: listedEvent(row), place: [row.at, row.event_key] }));
}

function listedEvent(row: Row): ListedEvent {
  const effects = JSON.parse(row.effects ?? '[]') as (ListedEffect & { outcome: ListedEffect['outcome'] | null })[];
  return {
    tenant: row.tenant,
    eventKey: row.event_key,
    source: row.source,
    id: row.event_id,
    type: row.type,
    state: row.state === 'open' && row.parked ? 'parked' : row.state,
    receivedAt: row.received_at,
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    ...(row.code === null ? {} : { code: row.code }),
    effects: effects.map(({ outcome, ...effect }) => ({ ...effect, ...(outcome === null ? {} : { outcome }) })),
  };
}
