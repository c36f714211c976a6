import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** A pause in force. */
export interface TracedPause {
  readonly kind: 'effect' | 'source';
  /** Of an effect, the name that the ledger claims it under. */
  readonly name: string;
  readonly tenant: string;
  readonly everyTenant: boolean;
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
}

/** Reads all pauses in force: there are few, and a trace asks for several. */
export async function readPauses(sql: Sql, schema: SchemaName, limit: number): Promise<readonly TracedPause[]> {
  const { rows } = await sql<TracedPause>(
    `SELECT kind, name, tenant, every_tenant AS "everyTenant", actor AS by, reason, at
     FROM ${schema}.pauses ORDER BY kind, name, every_tenant DESC, tenant LIMIT ${limit}`,
  );
  return rows;
}
