import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** One attempt as it was recorded before its socket opened, and ended after. */
export interface RecordedAttempt {
  readonly id: string;
  readonly runId: string;
  /** Counted within its run, from 1. */
  readonly attempt: number;
  readonly startedAt: Date;
  /** Undefined while it is under way, or after its worker died, until the next attempt looks. */
  readonly ended?: 'delivered' | 'retry' | 'rejected' | 'gone' | 'outcome_unknown';
  readonly endedAt?: Date;
  readonly code?: string;
  readonly status?: number;
  readonly durationMs?: number;
  /** What was read of the response; `digest` is SHA-256 in hex, `text` its beginning. */
  readonly response?: { readonly bytes: number; readonly digest: string; readonly text: string };
}

interface Row {
  id: string;
  run_id: string;
  attempt: number;
  started_at: Date;
  ended: NonNullable<RecordedAttempt['ended']> | null;
  ended_at: Date | null;
  code: string | null;
  status: number | null;
  duration_ms: number | null;
  response_bytes: string | null;
  response_digest: string | null;
  response_text: string | null;
}

/** Lists the latest attempts of a delivery over all its runs, in the order in which they were made. */
export async function listAttempts(
  sql: Sql,
  schema: SchemaName,
  { tenant, publication, endpoint }: DeliveryRef,
  limit: number,
): Promise<readonly RecordedAttempt[]> {
  const { rows } = await sql<Row>(
    `SELECT id, run_id, attempt, started_at, ended, ended_at, code, status, duration_ms,
            response_bytes, response_digest, response_text
     FROM ${schema}.publication_attempts
     WHERE tenant = $1 AND publication = $2 AND endpoint = $3
     ORDER BY started_at DESC, id LIMIT $4`,
    [tenant, publication, endpoint, limit],
  );
  return rows.reverse().map((row) => ({
    id: row.id,
    runId: row.run_id,
    attempt: row.attempt,
    startedAt: row.started_at,
    ...(row.ended === null ? {} : { ended: row.ended }),
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    ...(row.code === null ? {} : { code: row.code }),
    ...(row.status === null ? {} : { status: row.status }),
    ...(row.duration_ms === null ? {} : { durationMs: row.duration_ms }),
    ...(row.response_digest === null
      ? {}
      : {
          response: {
            bytes: Number(row.response_bytes ?? 0),
            digest: row.response_digest,
            text: row.response_text ?? '',
          },
        }),
  }));
}
