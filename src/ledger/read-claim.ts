import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** What may happen once, under every name that its effect has had. */
export interface ClaimIdentity {
  readonly tenant: string;
  /** The name that the ledger goes by first. */
  readonly names: readonly string[];
  readonly businessKey: string;
}

/** What the ledger has of a business identity. Migration 0002 has the states, and what each is left by. */
export interface ClaimRecord {
  /** The name that it stands under. */
  readonly effect: string;
  readonly state: 'claimed' | 'unknown' | 'performed' | 'parked' | 'released' | 'done';
  readonly fence: number;
  /** An earlier attempt's outcome is unknown. */
  readonly inDoubt: boolean;
  readonly eventKey: string;
  /** `source/event-id` of the event whose attempt it is, or was. */
  readonly event: string;
  readonly claimedAt: Date;
  /** Absent where no lease was given: a local write, or one that a person or the recipient has ended. */
  readonly leaseUntil?: Date;
  /** By the database's clock. */
  readonly leaseRunning: boolean;
  /** Of the JSON text; present once the call's result is known. */
  readonly resultBytes?: number;
}

interface Row extends Omit<ClaimRecord, 'fence' | 'leaseUntil' | 'resultBytes'> {
  readonly fence: string;
  readonly leaseUntil: Date | null;
  readonly resultBytes: number | null;
}

/**
 * Reads what the ledger has of a business identity. An effect that was renamed may stand under several names: then the row
 * that decides what the next claim does, done before a running lease, that before parked, and a known result before doubt.
 *
 * @returns Undefined where it was never claimed.
 */
export async function readClaim(
  sql: Sql,
  schema: SchemaName,
  { tenant, names, businessKey }: ClaimIdentity,
): Promise<ClaimRecord | undefined> {
  const { rows } = await sql<Row>(
    `SELECT effect, state, fence, in_doubt AS "inDoubt", event_key AS "eventKey", event, claimed_at AS "claimedAt",
            lease_until AS "leaseUntil", coalesce(lease_until > clock_timestamp(), false) AS "leaseRunning",
            octet_length(result) AS "resultBytes"
     FROM ${schema}.effects
     WHERE tenant = $1 AND effect = ANY($2) AND business_key = $3
     ORDER BY state = 'done' DESC, coalesce(lease_until > clock_timestamp(), false) DESC, state = 'parked' DESC,
              result IS NOT NULL DESC, state = 'released', array_position($2::text[], effect)
     LIMIT 1`,
    [tenant, names, businessKey],
  );
  const [row] = rows;
  if (!row) return undefined;
  const { fence, leaseUntil, resultBytes, ...rest } = row;
  return {
    ...rest,
    fence: Number(fence),
    ...(leaseUntil === null ? {} : { leaseUntil }),
    ...(resultBytes === null ? {} : { resultBytes }),
  };
}
