import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** One page of the deliveries of an endpoint that have been started and not ended, in the order of their publications. */
export async function listUnderWay(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint }: { readonly tenant: string; readonly endpoint: string },
  page: { readonly after: string; readonly limit: number },
): Promise<readonly string[]> {
  const { rows } = await sql<{ publication: string }>(
    `SELECT publication FROM ${schema}.publication_deliveries
     WHERE tenant = $1 AND endpoint = $2 AND state = 'started' AND publication > $3
     ORDER BY publication LIMIT $4`,
    [tenant, endpoint, page.after, page.limit],
  );
  return rows.map(({ publication }) => publication);
}
