import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { prefixRange } from './prefix-range.js';

/** A publication that a name may mean. */
export interface FoundPublication {
  readonly tenant: string;
  readonly publication: string;
  readonly type: string;
  readonly publishedAt: Date;
}

/** Finds publications by their identity or its beginning. */
export async function findPublications(
  sql: Sql,
  schema: SchemaName,
  asked: { readonly tenant?: string | undefined; readonly publication: string; readonly whole: boolean },
  limit: number,
): Promise<readonly FoundPublication[]> {
  const { where, values } = conditions({
    'publication = ?': asked.whole ? asked.publication : undefined,
    'publication ~>=~ ? AND publication ~<~ ?': asked.whole ? undefined : prefixRange(asked.publication),
    'tenant = ?': asked.tenant,
  });
  const { rows } = await sql<FoundPublication>(
    `SELECT tenant, publication, type, published_at AS "publishedAt"
     FROM ${schema}.publications WHERE ${where} LIMIT ${limit}`,
    values,
  );
  return rows;
}
