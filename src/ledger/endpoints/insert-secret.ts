import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { SealedColumns } from './endpoint-row.js';

/** A signing secret of an endpoint, sealed. */
export interface SealedSecret extends SealedColumns {
  /** A UUID. */
  readonly id: string;
}

/** Adds a signing secret to an endpoint. It is the newest, and signs first. */
export async function insertSecret(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint }: { readonly tenant: string; readonly endpoint: string },
  { id, sealed, key }: SealedSecret,
): Promise<void> {
  await sql(
    `INSERT INTO ${schema}.endpoint_secrets (tenant, endpoint, id, sealed, sealed_by) VALUES ($1, $2, $3, $4, $5)`,
    [tenant, endpoint, id, sealed, key],
  );
}
