import type { Sql } from '../database.js';
import type { RecordedAct } from '../record-act.js';
import type { SchemaName } from '../schema-name.js';

/** Lists the latest acts about one delivery, in the order in which they were recorded. */
export async function listActs(
  sql: Sql,
  schema: SchemaName,
  { tenant, eventKey }: { readonly tenant: string; readonly eventKey: string },
  limit: number,
): Promise<readonly RecordedAct[]> {
  const { rows } = await sql<RecordedAct>(
    `SELECT tenant, id, kind, event_key AS "eventKey", actor, reason, seen, outcome, at
     FROM ${schema}.acts WHERE tenant = $1 AND event_key = $2
     ORDER BY at DESC, id LIMIT $3`,
    [tenant, eventKey, limit],
  );
  return rows.reverse();
}
