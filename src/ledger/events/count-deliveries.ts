import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** How many deliveries an event had by one path, and when. */
export interface CountedDeliveries {
  /** Null where they were refused. */
  readonly path: string | null;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** Counts the deliveries of an event by their path, as far as rows of them are kept. */
export async function countDeliveries(
  sql: Sql,
  schema: SchemaName,
  { tenant, eventKey }: { readonly tenant: string; readonly eventKey: string },
): Promise<readonly CountedDeliveries[]> {
  const { rows } = await sql<CountedDeliveries>(
    `SELECT path, count(*)::integer AS count, min(received_at) AS "firstAt", max(received_at) AS "lastAt"
     FROM ${schema}.deliveries WHERE tenant = $1 AND event_key = $2
     GROUP BY path ORDER BY min(received_at)`,
    [tenant, eventKey],
  );
  return rows;
}
