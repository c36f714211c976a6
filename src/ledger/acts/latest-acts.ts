import type { Sql } from '../database.js';
import type { RecordedAct } from '../record-act.js';
import type { SchemaName } from '../schema-name.js';
import { listActs } from './list-acts.js';

/** Reads the latest acts about one thing, in the order in which they were recorded. */
export async function latestActs(
  sql: Sql,
  schema: SchemaName,
  about: { readonly tenant: string; readonly eventKey: string },
  limit: number,
): Promise<readonly RecordedAct[]> {
  const latest = await listActs(sql, schema, about, { limit });
  return latest.map(({ act }) => act).reverse();
}
