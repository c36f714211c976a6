import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import { exactly } from '../publication-deliveries/delivery-row.js';
import type { ActKind, RecordedAct } from '../record-act.js';
import type { SchemaName } from '../schema-name.js';

/** Which acts of a tenant are asked for; what is left out restricts nothing. */
export interface ActSelection {
  readonly tenant: string;
  /** What they are about. */
  readonly eventKey?: string;
  readonly kind?: ActKind;
  readonly actor?: string;
  /** Recorded at or after. */
  readonly since?: Date;
  /** Recorded before. */
  readonly until?: Date;
}

/** The place of an act in the order of a list: its time and its id. */
export type ActPlace = readonly [at: string, id: string];

/**
 * Lists acts of a tenant, the latest first.
 *
 * @param page `after`: place of the last one of the page before.
 */
export async function listActs(
  sql: Sql,
  schema: SchemaName,
  selection: ActSelection,
  page: { readonly after?: ActPlace; readonly limit: number },
): Promise<readonly { readonly act: RecordedAct; readonly place: ActPlace }[]> {
  const { where, values } = conditions({
    'tenant = ?': selection.tenant,
    'event_key = ?': selection.eventKey,
    'kind = ?': selection.kind,
    'actor = ?': selection.actor,
    'at >= ?': selection.since,
    'at < ?': selection.until,
    // Said twice, since an index is entered by a plain bound only.
    'at <= ?': page.after?.[0],
    '(at < ? OR id > ?)': page.after,
  });
  const { rows } = await sql<RecordedAct & { place: string }>(
    `SELECT tenant, id, kind, event_key AS "eventKey", actor, reason, seen, outcome, at, ${exactly('at')} AS place
     FROM ${schema}.acts WHERE ${where}
     ORDER BY acts.at DESC, id LIMIT $${values.length + 1}`,
    [...values, page.limit],
  );
  return rows.map(({ place, ...act }) => ({ act, place: [place, act.id] }));
}
