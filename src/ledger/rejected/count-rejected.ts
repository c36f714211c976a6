import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { RejectedSelection } from './list-rejected.js';

/** How many requests of a source were refused for one reason. */
export interface RejectedTotal {
  readonly source: string;
  readonly code: string;
  /** The finer reason; '' where there is none. */
  readonly reason: string;
  readonly count: number;
  /** How many of them were kept as samples. */
  readonly sampled: number;
  /** Begin of the first hour and of the last one in which there were any. */
  readonly firstHour: Date;
  readonly lastHour: Date;
}

/** Adds up how many requests were refused, by source and reason, the most first. Counts are by the hour, in UTC. */
export async function countRejected(
  sql: Sql,
  schema: SchemaName,
  selection: RejectedSelection,
): Promise<readonly RejectedTotal[]> {
  const { where, values } = conditions({
    'source = ?': selection.source,
    'code = ?': selection.code,
    'reason = ?': selection.reason,
    "hour > ?::timestamptz - interval '1 hour'": selection.since,
    'hour < ?': selection.until,
  });
  const { rows } = await sql<{ count: string; sampled: string } & Omit<RejectedTotal, 'count' | 'sampled'>>(
    `SELECT source, code, reason, sum(count) AS count, sum(sampled) AS sampled,
            min(hour) AS "firstHour", max(hour) AS "lastHour"
     FROM ${schema}.rejected_counts
     ${where === '' ? '' : `WHERE ${where}`}
     GROUP BY source, code, reason
     ORDER BY sum(count) DESC, source, code, reason`,
    values,
  );
  return rows.map((row) => ({ ...row, count: Number(row.count), sampled: Number(row.sampled) }));
}
