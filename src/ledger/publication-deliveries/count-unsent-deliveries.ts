import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { DeadPlace } from './list-dead-deliveries.js';

/** The recovery on whose behalf it is counted. */
export interface UnsentOf {
  readonly tenant: string;
  readonly endpoint: string;
  /** Identity of the act. */
  readonly id: string;
  /** When the act was recorded. */
  readonly at: Date;
  /** Of the set that it is about. */
  readonly since: Date;
  readonly until: Date;
  /** The last one that it has asked for, where it has. */
  readonly upTo?: DeadPlace;
}

/**
 * Counts what an endpoint has before it: deliveries that are started and not yet sent, those that wait for a slot, and of the
 * recovery's own those that no attempt has been made at since, which are still dead letters until their run takes them up.
 */
export async function countUnsentDeliveries(sql: Sql, schema: SchemaName, of: UnsentOf): Promise<number> {
  const { rows } = await sql<{ unsent: number }>(
    `SELECT (SELECT count(*) FROM ${schema}.publication_deliveries d
             WHERE d.tenant = $1 AND d.endpoint = $2 AND d.state = 'started'
               AND (d.attempts = 0 OR d.waiting_since IS NOT NULL
                 OR d.replay = $3 || '/' || d.publication
                    AND NOT EXISTS (SELECT 1 FROM ${schema}.publication_attempts a
                                    WHERE a.tenant = d.tenant AND a.publication = d.publication
                                      AND a.endpoint = d.endpoint AND a.started_at >= $4)))::int
          + (SELECT count(*) FROM ${schema}.publication_deliveries d
             WHERE d.tenant = $1 AND d.endpoint = $2 AND d.state = 'dead_lettered'
               AND d.ended_at >= $5 AND d.ended_at <= $6 AND (d.ended_at, d.publication) <= ($7::timestamptz, $8))::int
          AS unsent`,
    [of.tenant, of.endpoint, of.id, of.at, of.since, of.until, ...(of.upTo ?? ['-infinity', ''])],
  );
  return rows[0]?.unsent ?? 0;
}
