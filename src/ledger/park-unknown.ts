import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Parks an effect whose outcome is unknown and whose budget of asking is spent. One that an attempt holds, or that ended
 * meanwhile, is left alone.
 *
 * @returns Whether it is parked now, by this call or before.
 */
export async function parkUnknown(
  sql: Sql,
  schema: SchemaName,
  effect: { readonly tenant: string; readonly names: readonly string[]; readonly businessKey: string },
): Promise<boolean> {
  const { rows } = await sql<{ parked: boolean }>(
    `WITH parked AS (
       UPDATE ${schema}.effects SET state = 'parked', fence = fence + 1, in_doubt = true, lease_until = NULL
       WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3
         AND (state = 'unknown' OR (state = 'claimed' AND result IS NULL AND lease_until <= clock_timestamp()))
       RETURNING 1
     )
     SELECT EXISTS (SELECT 1 FROM parked)
         OR EXISTS (SELECT 1 FROM ${schema}.effects
                    WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3 AND state = 'parked') AS parked`,
    [effect.tenant, effect.names, effect.businessKey],
  );
  return rows[0]?.parked === true;
}
