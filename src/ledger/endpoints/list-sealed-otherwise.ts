import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { SealedColumns } from './endpoint-row.js';

/** Something sealed, and where it stands. */
export interface SealedPlace extends SealedColumns {
  readonly tenant: string;
  readonly endpoint: string;
  /** Of the secret's row; '' for the headers of the endpoint. */
  readonly secret: string;
}

/** The place of the last one of the page before. */
export type AfterPlace = Pick<SealedPlace, 'tenant' | 'endpoint' | 'secret'>;

/**
 * Lists secrets and headers of all tenants that are sealed with another key than the one given, in the order of their
 * places.
 */
export async function listSealedOtherwise(
  sql: Sql,
  schema: SchemaName,
  key: string,
  page: { readonly after?: AfterPlace; readonly limit: number },
): Promise<readonly SealedPlace[]> {
  const { rows } = await sql<SealedPlace>(
    `SELECT tenant, endpoint, secret, sealed, key
     FROM (SELECT tenant, endpoint, id::text AS secret, sealed, sealed_by AS key FROM ${schema}.endpoint_secrets
           UNION ALL
           SELECT tenant, id, '', headers, headers_key FROM ${schema}.endpoints WHERE headers IS NOT NULL) AS place
     WHERE key <> $1 AND ($2::text IS NULL OR (tenant, endpoint, secret) > ($2, $3, $4))
     ORDER BY tenant, endpoint, secret LIMIT $5`,
    [key, page.after?.tenant ?? null, page.after?.endpoint ?? null, page.after?.secret ?? null, page.limit],
  );
  return rows;
}
