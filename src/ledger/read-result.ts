import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Reads the stored result of a completed effect, for answers whose result was too large to travel through Temporal.
 *
 * @param key Business identity; `effect` is the name that the ledger keeps it under, see `ledgerName`.
 * @returns The result's JSON text, or undefined where the effect is not done.
 */
export async function readResult(
  sql: Sql,
  schema: SchemaName,
  key: { readonly tenant: string; readonly effect: string; readonly businessKey: string },
): Promise<string | undefined> {
  const { rows } = await sql<{ result: string | null }>(
    `SELECT result FROM ${schema}.effects
     WHERE tenant = $1 AND effect = $2 AND business_key = $3 AND state = 'done'`,
    [key.tenant, key.effect, key.businessKey],
  );
  return rows[0]?.result ?? undefined;
}
