import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** A claim or a completion as it stands, without its result. */
export interface TracedClaim {
  readonly tenant: string;
  /** The name that it stands under. */
  readonly effect: string;
  readonly businessKey: string;
  readonly state: 'claimed' | 'unknown' | 'performed' | 'parked' | 'released' | 'done';
  readonly fence: number;
  /** Key and name of the event whose attempt it is, or was. */
  readonly eventKey: string;
  readonly event: string;
  readonly claimedAt: Date;
  readonly doneAt: Date | null;
  readonly leaseUntil: Date | null;
  /** By the database's clock. */
  readonly leaseRunning: boolean;
  readonly inDoubt: boolean;
  /** How many idempotency keys the recipient may have been given. */
  readonly generation: number;
  readonly idempotencyKey: string | null;
  readonly keySince: Date | null;
  readonly resultBytes: number | null;
  /** The act that brought it in from a claim table of before. */
  readonly adoptedBy: string | null;
  /** The newest version of its lineage, and the event that brought it; null where it supersedes nothing. */
  readonly newestVersion: string | null;
  readonly newestEvent: string | null;
}

/** A business identity under one of the names of its effect. */
export interface ClaimName {
  readonly tenant: string;
  readonly effect: string;
  readonly businessKey: string;
}

/** Reads claims by their identities; those never claimed are missing. */
export async function readClaims(
  sql: Sql,
  schema: SchemaName,
  names: readonly ClaimName[],
): Promise<readonly TracedClaim[]> {
  const { rows } = await sql<Omit<TracedClaim, 'fence'> & { fence: string }>(
    `SELECT e.tenant, e.effect, e.business_key AS "businessKey", e.state, e.fence, e.event_key AS "eventKey", e.event,
            e.claimed_at AS "claimedAt", e.done_at AS "doneAt", e.lease_until AS "leaseUntil",
            coalesce(e.lease_until > clock_timestamp(), false) AS "leaseRunning", e.in_doubt AS "inDoubt",
            e.generation, e.idempotency_key AS "idempotencyKey", e.key_since AS "keySince",
            octet_length(e.result) AS "resultBytes", e.adopted_by AS "adoptedBy",
            v.version::text AS "newestVersion", v.event AS "newestEvent"
     FROM unnest($1::text[], $2::text[], $3::text[]) AS asked (tenant, effect, business_key)
     JOIN ${schema}.effects e USING (tenant, effect, business_key)
     LEFT JOIN ${schema}.versions v ON v.tenant = e.tenant AND v.effect = e.effect AND v.lineage = e.lineage`,
    [names.map(({ tenant }) => tenant), names.map(({ effect }) => effect), names.map(({ businessKey }) => businessKey)],
  );
  return rows.map(({ fence, ...row }) => ({ ...row, fence: Number(fence) }));
}
