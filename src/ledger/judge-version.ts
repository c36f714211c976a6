import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** A state that an event carries, and what it belongs to. */
export interface CarriedVersion {
  readonly tenant: string;
  /** The name that the ledger goes by. */
  readonly effect: string;
  readonly lineage: string;
  /** As PostgreSQL reads a `numeric`. */
  readonly version: string;
  readonly eventKey: string;
  /** `source/event-id`, for people. */
  readonly event: string;
}

/** How a state is to the newest of its lineage that was begun. */
export interface VersionVerdict {
  readonly verdict: 'newest' | 'equal' | 'older';
  /** `source/event-id` of the event that has the newest, or the equal one. */
  readonly by: string;
}

/**
 * Judges whether a state is the newest of its lineage, and holds the lineage's row until the transaction ends, so that of
 * two states side by side the second is judged by what the first wrote.
 */
export async function judgeVersion(sql: Sql, schema: SchemaName, one: CarriedVersion): Promise<VersionVerdict> {
  const newer = 'EXCLUDED.version > v.version';
  const { rows } = await sql<{ verdict: VersionVerdict['verdict']; by: string }>(
    `INSERT INTO ${schema}.versions AS v (tenant, effect, lineage, version, event_key, event)
     VALUES ($1, $2, $3, $4::numeric, $5, $6)
     ON CONFLICT (tenant, effect, lineage) DO UPDATE
       SET version = GREATEST(v.version, EXCLUDED.version),
           event_key = CASE WHEN ${newer} THEN EXCLUDED.event_key ELSE v.event_key END,
           event = CASE WHEN ${newer} THEN EXCLUDED.event ELSE v.event END,
           at = CASE WHEN ${newer} THEN clock_timestamp() ELSE v.at END
     RETURNING event AS by, CASE WHEN version > $4::numeric THEN 'older' WHEN event_key = $5 THEN 'newest' ELSE 'equal' END
               AS verdict`,
    [one.tenant, one.effect, one.lineage, one.version, one.eventKey, one.event],
  );
  return rows[0] ?? { verdict: 'newest', by: one.event };
}

/**
 * Whether an attempt at another state of the lineage holds its lease, or code of one that was given up still may: two calls side by side could reach the recipient in
 * either order. Only under the lineage's lock, which `judgeVersion` takes, is the answer good for longer than a moment.
 *
 * @returns The rest of that lease in ms, and its event; undefined where there is none.
 */
export async function leasedSibling(
  sql: Sql,
  schema: SchemaName,
  one: Omit<CarriedVersion, 'effect' | 'version'> & { readonly names: readonly string[]; readonly businessKey: string },
): Promise<{ readonly event: string; readonly leaseLeftMs: number } | undefined> {
  const { rows } = await sql<{ event: string; leaseLeftMs: number }>(
    `SELECT event, (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::float8 AS "leaseLeftMs"
     FROM ${schema}.effects
     WHERE tenant = $1 AND effect = ANY($2) AND lineage = $3 AND business_key <> $4
       AND state IN ('claimed', 'unknown') AND lease_until > clock_timestamp()
     ORDER BY lease_until DESC LIMIT 1`,
    [one.tenant, one.names, one.lineage, one.businessKey],
  );
  return rows[0];
}
