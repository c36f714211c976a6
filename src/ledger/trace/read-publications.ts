import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** A publication, one row for each endpoint that gets it; those columns are null where none does. */
export interface TracedPublicationRow {
  readonly tenant: string;
  readonly publication: string;
  readonly webhookId: string;
  readonly type: string;
  readonly publishedAt: Date;
  /** JSON: event, effect and business key of what published it. */
  readonly cause: string | null;
  /** Key of that event. */
  readonly causedBy: string | null;
  readonly endpoint: string | null;
  readonly endpointState: string | null;
  readonly endpointReason: string | null;
  readonly state: string | null;
  readonly attempts: number | null;
  readonly queuedAt: Date | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly possibleArrivals: number | null;
  readonly lastCode: string | null;
  readonly lastStatus: number | null;
  readonly abandonedBy: string | null;
  readonly abandonedReason: string | null;
}

const columns = `p.tenant, p.publication, p.event_id AS "webhookId", p.type, p.published_at AS "publishedAt", p.cause,
            p.caused_by AS "causedBy", d.endpoint, e.state AS "endpointState", e.state_reason AS "endpointReason",
            d.state, d.attempts, d.queued_at AS "queuedAt", d.started_at AS "startedAt", d.ended_at AS "endedAt",
            d.possible_arrivals AS "possibleArrivals", d.last_code AS "lastCode", d.last_status AS "lastStatus",
            d.abandoned_by AS "abandonedBy", d.abandoned_reason AS "abandonedReason"`;

/**
 * Reads what the effects of events have published, with its deliveries.
 *
 * @param tenant A publication may be another tenant's than its event; only those of this one, where it is given.
 */
export async function readPublicationsOf(
  sql: Sql,
  schema: SchemaName,
  { eventKeys, tenant }: { readonly eventKeys: readonly string[]; readonly tenant?: string | undefined },
  limit: number,
): Promise<readonly TracedPublicationRow[]> {
  const { rows } = await sql<TracedPublicationRow>(
    `SELECT ${columns}
     FROM (SELECT * FROM ${schema}.publications WHERE caused_by = ANY($1::text[])
             AND tenant = coalesce($2::text, tenant)
           ORDER BY published_at DESC LIMIT ${limit}) p
     LEFT JOIN ${schema}.publication_deliveries d USING (tenant, publication)
     LEFT JOIN ${schema}.endpoints e ON e.tenant = d.tenant AND e.id = d.endpoint
     ORDER BY p.published_at, p.publication, d.endpoint LIMIT ${limit * 10}`,
    [eventKeys, tenant ?? null],
  );
  return rows;
}

/** Reads one publication with its deliveries. */
export async function readTracedPublication(
  sql: Sql,
  schema: SchemaName,
  name: { readonly tenant: string; readonly publication: string },
  limit: number,
): Promise<readonly TracedPublicationRow[]> {
  const { rows } = await sql<TracedPublicationRow>(
    `SELECT ${columns}
     FROM ${schema}.publications p
     LEFT JOIN ${schema}.publication_deliveries d USING (tenant, publication)
     LEFT JOIN ${schema}.endpoints e ON e.tenant = d.tenant AND e.id = d.endpoint
     WHERE p.tenant = $1 AND p.publication = $2 ORDER BY d.endpoint LIMIT ${limit * 10}`,
    [name.tenant, name.publication],
  );
  return rows;
}
