import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { DeliveryState } from './delivery-row.js';

/** One endpoint of a publication, and where its delivery stands. */
export interface EndpointOfPublication {
  readonly endpoint: string;
  readonly state: DeliveryState;
  /** The act that let it be sent again after its end. */
  readonly replay: string | null;
}

/**
 * Lists the endpoints that a publication goes to, by id.
 *
 * @param page `after`: endpoint of the last one of the page before, '' for the first page.
 */
export async function listEndpointsOf(
  sql: Sql,
  schema: SchemaName,
  { tenant, publication }: { readonly tenant: string; readonly publication: string },
  page: { readonly after: string; readonly limit: number },
): Promise<readonly EndpointOfPublication[]> {
  const { rows } = await sql<EndpointOfPublication>(
    `SELECT endpoint, state, replay FROM ${schema}.publication_deliveries
     WHERE tenant = $1 AND publication = $2 AND endpoint > $3
     ORDER BY endpoint LIMIT $4`,
    [tenant, publication, page.after, page.limit],
  );
  return rows;
}
