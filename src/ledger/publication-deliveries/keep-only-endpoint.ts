import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Takes all deliveries of a publication but that to one endpoint back, inside the transaction that has just written them,
 * so that nobody ever sees the others.
 */
export async function keepOnlyEndpoint(
  sql: Sql,
  schema: SchemaName,
  {
    tenant,
    publication,
    endpoint,
  }: { readonly tenant: string; readonly publication: string; readonly endpoint: string },
): Promise<void> {
  await sql(
    `DELETE FROM ${schema}.publication_deliveries
     WHERE tenant = $1 AND publication = $2 AND endpoint <> $3 AND state = 'queued'`,
    [tenant, publication, endpoint],
  );
}
