import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** The kept body of a refused request, as it was sealed. */
export interface SealedBody {
  readonly sealed: Buffer;
  readonly key: string;
}

/** Reads the sealed body of a sample, or undefined where none is kept, or no longer. */
export async function readRejectedBody(sql: Sql, schema: SchemaName, id: string): Promise<SealedBody | undefined> {
  const { rows } = await sql<SealedBody>(
    `SELECT body AS sealed, body_key AS key FROM ${schema}.rejected_requests
     WHERE id = $1 AND body IS NOT NULL AND body_until > clock_timestamp()`,
    [id],
  );
  return rows[0];
}
