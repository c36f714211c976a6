import type { Sql } from './database.js';
import { type HeldClaim, heldValues } from './held-claim.js';
import type { SchemaName } from './schema-name.js';

/**
 * Whether a claim was completed by its own attempt: the completion's COMMIT may have taken hold although its answer was
 * lost. Owner and fence tell its completion from another attempt's.
 */
export async function readHeldEnd(sql: Sql, schema: SchemaName, claim: HeldClaim): Promise<boolean> {
  const { rows } = await sql(
    `SELECT 1 FROM ${schema}.effects AS c
     WHERE c.tenant = $1 AND c.business_key = $2 AND c.owner = $3 AND c.state = 'done'
       AND (c.effect, c.fence) IN (SELECT * FROM unnest($4::text[], $5::bigint[]))`,
    heldValues(claim),
  );
  return rows.length > 0;
}
