import type { Sql } from './database.js';
import { type HeldClaim, heldValues } from './held-claim.js';
import type { SchemaName } from './schema-name.js';

/** What an attempt can leave its claim as. */
export type ClaimEnd = 'unknown' | 'performed' | 'parked' | 'released' | 'done';

/**
 * Whether a claim stands as its own attempt wanted to leave it: a statement may have taken hold although its answer was lost.
 * Owner and fence, which only the next attempt or a person changes, tell its writing from another's.
 */
export async function isLeftAs(sql: Sql, schema: SchemaName, claim: HeldClaim, state: ClaimEnd): Promise<boolean> {
  const { rows } = await sql(
    `SELECT 1 FROM ${schema}.effects AS c
     WHERE c.tenant = $1 AND c.business_key = $2 AND c.owner = $3 AND c.state = $6
       AND (c.effect, c.fence) IN (SELECT * FROM unnest($4::text[], $5::bigint[]))`,
    [...heldValues(claim), state],
  );
  return rows.length > 0;
}
