import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { FoundPublication } from './find-publications.js';

/** More tenants than this are not gone through. */
const tenantsAtMost = 1_000;

/**
 * Finds publications by the `webhook-id` that their receivers saw.
 *
 * It comes after the tenant in its index, so without one it goes from one tenant to the next in it (a loose index scan).
 */
export async function findWebhookIds(
  sql: Sql,
  schema: SchemaName,
  asked: { readonly tenant?: string | undefined; readonly webhookId: string },
  limit: number,
): Promise<readonly FoundPublication[]> {
  const { rows } = await sql<FoundPublication>(
    `WITH RECURSIVE tenants (tenant, nth) AS (
       SELECT coalesce($1::text, (SELECT min(tenant) FROM ${schema}.publications)), 1
       UNION ALL
       SELECT (SELECT min(p.tenant) FROM ${schema}.publications p WHERE p.tenant > t.tenant), t.nth + 1
       FROM tenants t WHERE $1::text IS NULL AND t.tenant IS NOT NULL AND t.nth < ${tenantsAtMost}
     )
     SELECT p.tenant, p.publication, p.type, p.published_at AS "publishedAt"
     FROM tenants t JOIN ${schema}.publications p ON p.tenant = t.tenant AND p.event_id = $2
     LIMIT ${limit}`,
    [asked.tenant ?? null, asked.webhookId],
  );
  return rows;
}
