import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { exactly } from './delivery-row.js';

/** The place of a dead-lettered delivery in the order of its end. */
export type DeadPlace = readonly [endedAt: string, publication: string];

/**
 * Lists dead-lettered deliveries of one endpoint in the order in which they ended. One that is sent again leaves the set,
 * or comes to end after `until`, so that with a fixed `until` the set only shrinks.
 *
 * @param ended `since` and `until` both included.
 * @param page `after`: place of the last one of the page before.
 */
export async function listDeadDeliveries(
  sql: Sql,
  schema: SchemaName,
  ended: { readonly tenant: string; readonly endpoint: string; readonly since: Date; readonly until: Date },
  page: { readonly after?: DeadPlace; readonly limit: number },
): Promise<readonly { readonly publication: string; readonly place: DeadPlace }[]> {
  const [at, publication] = page.after ?? ['-infinity', ''];
  const { rows } = await sql<{ publication: string; at: string }>(
    `SELECT publication, ${exactly('ended_at')} AS at
     FROM ${schema}.publication_deliveries
     WHERE tenant = $1 AND endpoint = $2 AND state = 'dead_lettered'
       AND ended_at >= $3 AND ended_at <= $4 AND (ended_at, publication) > ($5::timestamptz, $6)
     ORDER BY ended_at, publication LIMIT $7`,
    [ended.tenant, ended.endpoint, ended.since, ended.until, at, publication, page.limit],
  );
  return rows.map((row) => ({ publication: row.publication, place: [row.at, row.publication] }));
}
