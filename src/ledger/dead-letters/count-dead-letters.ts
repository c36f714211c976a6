import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Open dead letters of one kind, source or endpoint, and code. */
export interface CountedDeadLetters {
  readonly kind: 'delivery' | 'event';
  /** Source of events, endpoint of deliveries. */
  readonly source: string;
  readonly code: string;
  readonly count: number;
  /** How many of them wait for a person while their event still runs. */
  readonly parked: number;
  readonly oldestAt: Date;
  readonly latestAt: Date;
}

/** Counts a tenant's open dead letters by why and where they ended, the most first. */
export async function countDeadLetters(
  sql: Sql,
  schema: SchemaName,
  selection: { readonly tenant: string; readonly kind?: 'delivery' | 'event'; readonly source?: string },
): Promise<readonly CountedDeadLetters[]> {
  const { where, values } = conditions({
    'tenant = ?': selection.tenant,
    'kind = ?': selection.kind,
    'source = ?': selection.source,
  });
  const { rows } = await sql<CountedDeadLetters>(
    `SELECT kind, source, code, count(*)::integer AS count, (count(*) FILTER (WHERE parked))::integer AS parked,
            min(opened_at) AS "oldestAt", max(last_at) AS "latestAt"
     FROM ${schema}.dead_letters WHERE ${where} AND closed_at IS NULL
     GROUP BY kind, source, code ORDER BY count(*) DESC, kind, source, code`,
    values,
  );
  return rows;
}
