import type { Sql } from '../ledger/database.js';
import { interval } from '../ledger/held-claim.js';
import type { ClaimIdentity } from '../ledger/read-claim.js';
import type { SchemaName } from '../ledger/schema-name.js';

/** Every clock of a claim that runs: when it was taken, and until when, and since when its key has been known. */
const clocks = ['claimed_at', 'lease_until', 'acting_until', 'key_since'] as const;

/**
 * Makes the ledger believe that time has passed, by moving the clocks of unfinished claims back: of one business identity,
 * or of all.
 */
export async function passTime(sql: Sql, schema: SchemaName, ms: number, of?: ClaimIdentity): Promise<void> {
  await sql(
    `UPDATE ${schema}.effects SET ${clocks.map((clock) => `${clock} = ${clock} - ${interval('$1')}`).join(', ')}
     WHERE state <> 'done'
       AND ($2::text IS NULL OR (tenant = $2 AND effect = ANY($3::text[]) AND business_key = $4))`,
    [ms, of?.tenant ?? null, of?.names ?? null, of?.businessKey ?? null],
  );
}

/** Lets just the time pass after which the lease of a claim is over. @returns False where none was running. */
export async function passLease(sql: Sql, schema: SchemaName, of: ClaimIdentity): Promise<boolean> {
  const { rowCount } = await sql(
    `WITH running AS (
       SELECT effect, lease_until - clock_timestamp() AS rest FROM ${schema}.effects
       WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3 AND lease_until > clock_timestamp()
     )
     UPDATE ${schema}.effects AS c SET ${clocks.map((clock) => `${clock} = c.${clock} - running.rest`).join(', ')}
     FROM running WHERE c.tenant = $1 AND c.effect = running.effect AND c.business_key = $3`,
    [of.tenant, of.names, of.businessKey],
  );
  return rowCount > 0;
}
