import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { EndpointRef } from './endpoint-row.js';

/** One attempt at an endpoint. */
export interface EndpointAttempt {
  readonly publication: string;
  readonly attempt: number;
  readonly startedAt: Date;
  /** Absent while it is under way, and where its worker died. */
  readonly ended?: 'delivered' | 'retry' | 'rejected' | 'gone' | 'outcome_unknown';
  /** Why it failed. */
  readonly code?: string;
  readonly status?: number;
  readonly durationMs?: number;
}

type Nullable<Of> = { readonly [Name in keyof Of]-?: Exclude<Of[Name], undefined> | null };

/** Reads the latest attempts at an endpoint, the newest first. */
export async function listAttempts(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
  limit: number,
): Promise<readonly EndpointAttempt[]> {
  const { rows } = await sql<Nullable<EndpointAttempt>>(
    `SELECT publication, attempt, started_at AS "startedAt", ended, code, status, duration_ms AS "durationMs"
     FROM ${schema}.publication_attempts
     WHERE tenant = $1 AND endpoint = $2
     ORDER BY started_at DESC, id LIMIT $3`,
    [tenant, id, limit],
  );
  return rows.map(
    (row) =>
      Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as EndpointAttempt,
  );
}
