import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type EndpointRow, endpointColumns } from './endpoint-row.js';

/** Which endpoints of a tenant are listed. */
export interface EndpointsListed {
  readonly tenant: string;
  readonly states: readonly EndpointRow['state'][];
  /** Those which subscribe to any of these patterns. Default: all. */
  readonly patterns?: readonly string[];
  /** Id of the last one of the page before; '' for the first page. */
  readonly after: string;
  readonly limit: number;
}

/** Lists endpoints of a tenant in the order of their ids, which is that of their creation. */
export async function listEndpointRows(
  sql: Sql,
  schema: SchemaName,
  { tenant, states, patterns, after, limit }: EndpointsListed,
): Promise<readonly EndpointRow[]> {
  const { rows } = await sql<EndpointRow>(
    `SELECT ${endpointColumns} FROM ${schema}.endpoints
     WHERE tenant = $1 AND state = ANY($2) AND ($3::text[] IS NULL OR types && $3::text[]) AND id > $4
     ORDER BY id LIMIT $5`,
    [tenant, states, patterns ?? null, after, limit],
  );
  return rows;
}
