import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Which dead letters of a tenant are asked for; what is left out restricts nothing. */
export interface DeadLetterSelection {
  readonly tenant: string;
  /** Of deliveries or of events; both where it is left out. */
  readonly kind?: 'delivery' | 'event';
  readonly id?: string;
  /** The workflow ID. */
  readonly key?: string;
  /** Endpoint of a delivery, source of an event. */
  readonly source?: string;
  /** Publication of a delivery, event id of an event. */
  readonly of?: string;
  readonly type?: string;
  readonly code?: string;
  /** Whether it waits for a person while its event still runs. */
  readonly parked?: boolean;
  readonly owner?: string;
  /** The key of one of the event's effects. */
  readonly businessKey?: string;
  /** Opened at or after. */
  readonly since?: Date;
  /** Opened before. */
  readonly until?: Date;
  /** Only those that nobody has closed. */
  readonly open: boolean;
}

/** A dead letter as people judge it. */
export interface ListedDeadLetter {
  /** Grows with the time of opening. */
  readonly id: string;
  readonly tenant: string;
  readonly kind: 'delivery' | 'event';
  /** The workflow ID. */
  readonly key: string;
  /** Endpoint of a delivery, source of an event. */
  readonly source: string;
  /** Publication of a delivery, event id of an event. */
  readonly of: string;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  /** JSON: the reason of every attempt of a delivery; of an event, each effect with its reasons. */
  readonly reasons: string;
  readonly occurrences: number;
  /** Run ids, in the order in which they ended so. */
  readonly runs: readonly string[];
  readonly parked: boolean;
  readonly openedAt: Date;
  readonly lastAt: Date;
  /** Who looks after it. */
  readonly owner?: string;
  /** What they found. */
  readonly note?: string;
  readonly closedAt?: Date;
  /** How it was closed, such as `completion`. */
  readonly closedBy?: string;
}

type Optional = 'owner' | 'note' | 'closedAt' | 'closedBy';
type Row = Omit<ListedDeadLetter, Optional> & {
  owner: string | null;
  note: string | null;
  closedAt: Date | null;
  closedBy: string | null;
};

/**
 * Lists dead letters of a tenant, the latest first.
 *
 * @param page `before`: id of the last one of the page before.
 */
export async function listDeadLetters(
  sql: Sql,
  schema: SchemaName,
  selection: DeadLetterSelection,
  page: { readonly before?: string; readonly limit: number },
): Promise<readonly ListedDeadLetter[]> {
  const { where, values } = conditions({
    'tenant = ?': selection.tenant,
    'kind = ?': selection.kind,
    'id = ?': selection.id,
    'event_key = ?': selection.key,
    'source = ?': selection.source,
    'event_id = ?': selection.of,
    'type = ?': selection.type,
    'code = ?': selection.code,
    'parked = ?': selection.parked,
    'owner = ?': selection.owner,
    [`event_key IN (SELECT k.event_key FROM ${schema}.event_effects k
                    WHERE k.business_key = ? AND k.tenant = dead_letters.tenant)`]: selection.businessKey,
    'opened_at >= ?': selection.since,
    'opened_at < ?': selection.until,
    'id < ?': page.before,
  });
  const { rows } = await sql<Row>(
    `SELECT id::text, tenant, kind, event_key AS key, source, event_id AS "of", type, code, message, effects AS reasons,
            occurrences, runs, parked, owner, note, opened_at AS "openedAt", last_at AS "lastAt",
            closed_at AS "closedAt", closed_by AS "closedBy"
     FROM ${schema}.dead_letters
     WHERE ${where} ${selection.open ? 'AND closed_at IS NULL' : ''}
     ORDER BY dead_letters.id DESC LIMIT $${values.length + 1}`,
    [...values, page.limit],
  );
  return rows.map(({ owner, note, closedAt, closedBy, ...letter }) => ({
    ...letter,
    ...(owner === null ? {} : { owner }),
    ...(note === null ? {} : { note }),
    ...(closedAt === null ? {} : { closedAt }),
    ...(closedBy === null ? {} : { closedBy }),
  }));
}
