import type { Sql } from './database.js';
import type { HeldClaim } from './held-claim.js';
import type { SchemaName } from './schema-name.js';

/** An attempt that came back after its lease had been taken. */
export interface SupersededAttempt {
  readonly claim: HeldClaim;
  readonly eventKey: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** What it came back with. */
  readonly ended: 'performed' | 'not_done' | 'unknown';
}

/** Records that an attempt came back too late; it is all that such an attempt writes. */
export async function recordSuperseded(sql: Sql, schema: SchemaName, one: SupersededAttempt): Promise<void> {
  const { claim } = one;
  const [row] = claim.rows;
  await sql(
    `INSERT INTO ${schema}.superseded_attempts (tenant, effect, business_key, event_key, attempt, owner, fence, ended)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [claim.tenant, row?.effect, claim.businessKey, one.eventKey, one.attempt, claim.owner, row?.fence, one.ended],
  );
}
