import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** One attempt of a delivery, without what the endpoint answered. */
export interface TracedSend {
  readonly tenant: string;
  readonly publication: string;
  readonly endpoint: string;
  readonly runId: string;
  readonly attempt: number;
  readonly startedAt: Date;
  /** Null while it is under way, or after its worker died. */
  readonly ended: 'delivered' | 'retry' | 'rejected' | 'gone' | 'outcome_unknown' | null;
  readonly endedAt: Date | null;
  readonly code: string | null;
  readonly status: number | null;
  readonly durationMs: number | null;
}

/** Reads the latest attempts of each delivery, in the order in which they were made. */
export async function readSends(
  sql: Sql,
  schema: SchemaName,
  deliveries: readonly { readonly tenant: string; readonly publication: string; readonly endpoint: string }[],
  limitEach: number,
): Promise<readonly TracedSend[]> {
  const { rows } = await sql<TracedSend>(
    `SELECT s.tenant, s.publication, s.endpoint, s.run_id AS "runId", s.attempt, s.started_at AS "startedAt",
            s.ended, s.ended_at AS "endedAt", s.code, s.status, s.duration_ms AS "durationMs"
     FROM unnest($1::text[], $2::text[], $3::text[]) AS asked (tenant, publication, endpoint)
     CROSS JOIN LATERAL (
       SELECT * FROM ${schema}.publication_attempts a
       WHERE a.tenant = asked.tenant AND a.publication = asked.publication AND a.endpoint = asked.endpoint
       ORDER BY a.started_at DESC LIMIT ${limitEach}
     ) s
     ORDER BY s.started_at, s.id`,
    [
      deliveries.map(({ tenant }) => tenant),
      deliveries.map(({ publication }) => publication),
      deliveries.map(({ endpoint }) => endpoint),
    ],
  );
  return rows;
}
