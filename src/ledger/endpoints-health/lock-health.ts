import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { failingSince } from '../sends/failing-since.js';

/** An endpoint of a tenant. */
export interface HealthRef {
  readonly tenant: string;
  readonly endpoint: string;
}

/** What is known of an endpoint's health; times by the database's clock. */
export interface EndpointHealth {
  readonly state: 'enabled' | 'paused' | 'disabled' | 'removed';
  readonly stateCode: string | null;
  readonly stateAt: Date;
  readonly description: string;
  /** Grows with every change by its owner. */
  readonly version: number;
  /** First failed attempt since the last success, and not from before its state was last changed. */
  readonly failingSince: Date | undefined;
  /** How long that is, ms. */
  readonly failingMs: number;
  /** Notices its owner got since it fails, and when the last one of anything. */
  readonly notices: number;
  readonly noticedAt: Date | undefined;
  /** How long that is, ms. */
  readonly noticedMs: number;
  /** A 410 has disabled it, and its owner was not told. */
  readonly goneUntold: boolean;
}

/**
 * Reads the health of an endpoint and holds its row until the transaction ends, so that of two that judge it at once the
 * second finds what the first has done.
 */
export async function lockHealth(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint }: HealthRef,
): Promise<EndpointHealth | undefined> {
  const { rows } = await sql<
    Pick<EndpointHealth, 'state' | 'stateCode' | 'description' | 'version' | 'notices' | 'goneUntold'> & {
      readonly stateAt: Date | string;
      readonly failingSince: Date | string | null;
      readonly failingMs: number | null;
      readonly noticedAt: Date | string | null;
      readonly noticedMs: number | null;
    }
  >(
    `SELECT e.state, e.state_code AS "stateCode", e.state_at AS "stateAt", e.description,
            e.version::float8 AS version, e.notices,
            ${failingSince('e')} AS "failingSince", ${sinceMs(failingSince('e'))} AS "failingMs",
            e.noticed_at AS "noticedAt", ${sinceMs('e.noticed_at')} AS "noticedMs",
            e.state = 'disabled' AND e.state_code = 'endpoint_gone'
              AND (e.noticed_at IS NULL OR e.noticed_at < e.state_at) IS TRUE AS "goneUntold"
     FROM ${schema}.endpoints e WHERE e.tenant = $1 AND e.id = $2
     FOR UPDATE OF e`,
    [tenant, endpoint],
  );
  const [row] = rows;
  return (
    row && {
      ...row,
      stateAt: new Date(row.stateAt),
      failingSince: row.failingSince === null ? undefined : new Date(row.failingSince),
      failingMs: row.failingMs ?? 0,
      noticedAt: row.noticedAt === null ? undefined : new Date(row.noticedAt),
      noticedMs: row.noticedMs ?? Number.POSITIVE_INFINITY,
      goneUntold: row.goneUntold === true,
    }
  );
}

function sinceMs(moment: string): string {
  return `(extract(epoch FROM clock_timestamp() - (${moment})) * 1000)::float8`;
}
