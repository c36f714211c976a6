import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { EndpointRef } from './endpoint-row.js';
import type { SealedSecret } from './insert-secret.js';

/** A secret that signs. */
export interface LiveSecret extends SealedSecret {
  readonly createdAt: Date;
  /** Absent where nothing has replaced it. */
  readonly expiresAt?: Date;
}

/** Reads the secrets of an endpoint that have not expired, the newest first: all of them sign. */
export async function listLiveSecrets(
  sql: Sql,
  schema: SchemaName,
  { tenant, id }: EndpointRef,
): Promise<readonly LiveSecret[]> {
  const { rows } = await sql<Omit<LiveSecret, 'expiresAt'> & { readonly expiresAt: Date | null }>(
    `SELECT id, sealed, sealed_by AS key, created_at AS "createdAt", expires_at AS "expiresAt"
     FROM ${schema}.endpoint_secrets
     WHERE tenant = $1 AND endpoint = $2 AND (expires_at IS NULL OR expires_at > clock_timestamp())
     ORDER BY created_at DESC, id`,
    [tenant, id],
  );
  return rows.map(({ expiresAt, ...secret }) => ({ ...secret, ...(expiresAt === null ? {} : { expiresAt }) }));
}
