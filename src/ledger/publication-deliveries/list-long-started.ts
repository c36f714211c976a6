import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** A delivery that was started long ago and has not ended. */
export interface LongStarted extends DeliveryRef {
  /** Attempts ever made. */
  readonly attempts: number;
  /** Undefined where the ledger has no such publication any more. */
  readonly eventId: string | undefined;
  readonly type: string | undefined;
  readonly publishedAt: Date | undefined;
}

/** One page of deliveries that have been under way for longer than that, in the order of their keys. */
export async function listLongStarted(
  sql: Sql,
  schema: SchemaName,
  page: { readonly after: DeliveryRef | undefined; readonly olderThanMs: number; readonly limit: number },
): Promise<readonly LongStarted[]> {
  const { rows } = await sql<{
    tenant: string;
    endpoint: string;
    publication: string;
    attempts: number;
    event_id: string | null;
    type: string | null;
    published_at: Date | string | null;
  }>(
    `SELECT d.tenant, d.endpoint, d.publication, d.attempts, p.event_id, p.type, p.published_at
     FROM ${schema}.publication_deliveries d
     LEFT JOIN ${schema}.publications p ON p.tenant = d.tenant AND p.publication = d.publication
     WHERE d.state = 'started' AND (d.tenant, d.endpoint, d.publication) > ($1, $2, $3)
       AND coalesce(d.started_at, d.queued_at) < clock_timestamp() - $4 * interval '1 millisecond'
     ORDER BY d.tenant, d.endpoint, d.publication LIMIT $5`,
    [page.after?.tenant ?? '', page.after?.endpoint ?? '', page.after?.publication ?? '', page.olderThanMs, page.limit],
  );
  return rows.map((row) => ({
    tenant: row.tenant,
    endpoint: row.endpoint,
    publication: row.publication,
    attempts: row.attempts,
    eventId: row.event_id ?? undefined,
    type: row.type ?? undefined,
    publishedAt: row.published_at === null ? undefined : new Date(row.published_at),
  }));
}
