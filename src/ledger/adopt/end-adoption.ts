import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Says what an adoption came to, once it has gone through its rows; carried on under the same act, what that came to. */
export async function endAdoption(
  sql: Sql,
  schema: SchemaName,
  act: {
    readonly tenant: string;
    readonly id: string;
    readonly outcome: string;
    /** JSON text. */
    readonly seen: string;
  },
): Promise<void> {
  await sql(`UPDATE ${schema}.acts SET outcome = $3, seen = $4 WHERE tenant = $1 AND id = $2`, [
    act.tenant,
    act.id,
    act.outcome,
    act.seen,
  ]);
}
