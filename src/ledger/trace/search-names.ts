import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** A name that holds the text asked for. */
export interface FoundName {
  readonly tenant: string;
  /** Of an event, its source; of a business key, its effect; of a publication, its type. */
  readonly of: string;
  readonly name: string;
  readonly key: string;
}

/** Where names are searched for a part of them: table, and its columns. */
const places = {
  event: { table: 'events', of: 'source', name: 'event_id', key: 'event_key' },
  business_key: { table: 'event_effects', of: 'effect', name: 'business_key', key: 'event_key' },
  publication: { table: 'publications', of: 'type', name: 'publication', key: 'publication' },
} as const;

/** What is searched. */
export type NameKind = keyof typeof places;

/**
 * Searches all names of one kind for a text inside them. It reads the whole table where nothing is found, so the caller
 * bounds its time.
 */
export async function searchNames(
  sql: Sql,
  schema: SchemaName,
  kind: NameKind,
  asked: { readonly tenant?: string | undefined; readonly text: string },
  limit: number,
): Promise<readonly FoundName[]> {
  const { table, of, name, key } = places[kind];
  const { where, values } = conditions({ [`strpos(${name}, ?) > 0`]: asked.text, 'tenant = ?': asked.tenant });
  const { rows } = await sql<FoundName>(
    `SELECT tenant, ${of} AS "of", ${name} AS name, ${key} AS key
     FROM ${schema}.${table} WHERE ${where} LIMIT ${limit}`,
    values,
  );
  return rows;
}
