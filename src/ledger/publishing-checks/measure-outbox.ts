import type { Sql } from '../database.js';
import { windowOf } from '../publications/window-of.js';
import type { SchemaName } from '../schema-name.js';

/** How far the outbox is looked into. */
export interface OutboxLook {
  /** Deliveries that wait for longer are overdue, ms. */
  readonly overdueMs: number;
  /** Started and not yet sent deliveries of an endpoint, at the most, from which on a relay leaves its queue alone. */
  readonly window: number;
  /** Queues at most. */
  readonly queues: number;
  /** Deliveries of each queue at most. */
  readonly perQueue: number;
}

/** What was found. */
export interface OutboxMeasure {
  /** Queued deliveries that a relay should have started. */
  readonly overdue: number;
  /** There may be more, since queues, or rows of one, were left out. */
  readonly cut: boolean;
  /** How long the oldest of them has waited, ms; 0 where there is none. */
  readonly oldestMs: number;
  /** A relay has taken or started something of these queues just now. */
  readonly relayed: boolean;
}

/**
 * Looks whether queued deliveries wait for a relay. Goes by the index from queue to queue as a relay does, and reads the
 * oldest rows of each only. What a relay leaves where it is on purpose, since its endpoint is behind, is not counted.
 */
export async function measureOutbox(sql: Sql, schema: SchemaName, look: OutboxLook): Promise<OutboxMeasure> {
  const deliveries = `${schema}.publication_deliveries`;
  const { rows } = await sql<OutboxMeasure>(
    `WITH RECURSIVE queues AS (
       (SELECT 1 AS nth, d.tenant, d.endpoint FROM ${deliveries} d
        WHERE d.state = 'queued' ORDER BY d.tenant, d.endpoint LIMIT 1)
       UNION ALL
       SELECT q.nth + 1, next.tenant, next.endpoint
       FROM queues q CROSS JOIN LATERAL (
         SELECT d.tenant, d.endpoint FROM ${deliveries} d
         WHERE d.state = 'queued' AND (d.tenant, d.endpoint) > (q.tenant, q.endpoint)
         ORDER BY d.tenant, d.endpoint LIMIT 1
       ) next
       WHERE q.nth < $3
     ), looked AS (
       SELECT ahead.waiting < bound.size AS open, ahead.latest, oldest.*
       FROM queues q
       LEFT JOIN ${schema}.endpoints o ON o.tenant = q.tenant AND o.id = q.endpoint
       CROSS JOIN LATERAL (SELECT ${windowOf('o.concurrency', '$2')} AS size) bound
       CROSS JOIN LATERAL (
         SELECT count(*) AS waiting, max(started_at) AS latest FROM (
           SELECT d.started_at FROM ${deliveries} d
           WHERE d.tenant = q.tenant AND d.endpoint = q.endpoint AND d.state = 'started' AND d.attempts = 0
           LIMIT bound.size
         ) started
       ) ahead
       CROSS JOIN LATERAL (
         SELECT count(*) FILTER (WHERE queued_at < now() - $1 * interval '1 millisecond') AS overdue,
                count(*) AS rows, min(queued_at) AS queued_at, bool_or(relay_until > now()) AS leased
         FROM (
           SELECT d.queued_at, d.relay_until FROM ${deliveries} d
           WHERE d.tenant = q.tenant AND d.endpoint = q.endpoint AND d.state = 'queued'
           ORDER BY d.queued_at LIMIT $4
         ) head
       ) oldest
     )
     SELECT coalesce(sum(overdue) FILTER (WHERE open), 0)::integer AS overdue,
            coalesce(bool_or(open AND rows = $4) OR count(*) = $3, false) AS cut,
            coalesce(max(extract(epoch FROM now() - queued_at) * 1000) FILTER (WHERE open AND overdue > 0), 0)::float8
              AS "oldestMs",
            coalesce(bool_or(leased OR latest > now() - $1 * interval '1 millisecond'), false) AS relayed
     FROM looked`,
    [look.overdueMs, look.window, look.queues, look.perQueue],
  );
  return rows[0] as OutboxMeasure;
}
