import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** A published message with its body. */
export interface PublishedMessage {
  readonly eventId: string;
  readonly type: string;
  /** JSON text `{"type","timestamp","data"}`, as every attempt sends it. */
  readonly body: string;
  readonly retried: boolean;
  readonly pausesMs: readonly number[] | null;
  readonly elapsedMs: number | null;
}

/** Reads the message of a publication, or undefined where the tenant has none such. */
export async function readMessage(
  sql: Sql,
  schema: SchemaName,
  { tenant, publication }: { readonly tenant: string; readonly publication: string },
): Promise<PublishedMessage | undefined> {
  const { rows } = await sql<
    Omit<PublishedMessage, 'pausesMs' | 'elapsedMs'> & { pausesMs: string[] | null; elapsedMs: string | null }
  >(
    `SELECT event_id AS "eventId", type, body, retried, pauses_ms AS "pausesMs", elapsed_ms AS "elapsedMs"
     FROM ${schema}.publications WHERE tenant = $1 AND publication = $2`,
    [tenant, publication],
  );
  const row = rows[0];
  if (!row) return undefined;
  return {
    ...row,
    pausesMs: row.pausesMs === null ? null : row.pausesMs.map(Number),
    elapsedMs: row.elapsedMs === null ? null : Number(row.elapsedMs),
  };
}
