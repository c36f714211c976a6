import type { Sql } from '../database.js';
import type { RecordedAct } from '../record-act.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Reads an act and holds its row until the transaction ends, so that of the same command given twice at once one carries
 * it out, and the other then finds how it went. A process that dies lets go of it.
 */
export async function lockAct(
  sql: Sql,
  schema: SchemaName,
  tenant: string,
  id: string,
): Promise<RecordedAct | undefined> {
  const { rows } = await sql<RecordedAct>(
    `SELECT tenant, id, kind, event_key AS "eventKey", actor, reason, seen, outcome, at
     FROM ${schema}.acts WHERE tenant = $1 AND id = $2 FOR UPDATE`,
    [tenant, id],
  );
  return rows[0];
}
