import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { windowOf } from './window-of.js';

/** Which queue of an endpoint a relay looked at last; it goes on behind it. */
export interface QueuePlace {
  readonly tenant: string;
  readonly endpoint: string;
}

/** How much a relay takes. */
export interface TakeQueued {
  /** The place that the last look ended at; undefined to begin with the first queue. */
  readonly after: QueuePlace | undefined;
  /** Deliveries at most. */
  readonly limit: number;
  /** Queues at most. */
  readonly queues: number;
  /** Of one queue at most, so that the next ones have their turn. */
  readonly perQueue: number;
  /** Deliveries of one endpoint that may be started and not yet sent. */
  readonly window: number;
  /** How long they are this relay's to start, ms. */
  readonly leaseMs: number;
}

/** A delivery whose workflow is to be started, and all that its start is made of. */
export interface TakenDelivery {
  readonly tenant: string;
  readonly publication: string;
  readonly endpoint: string;
  readonly eventId: string;
  readonly type: string;
  readonly publishedAt: Date;
  readonly retried: boolean;
  /** Since it was queued, ms, by the database's clock. */
  readonly waitedMs: number;
  /** What its type and its endpoint say of the budget; null where they leave it to the default. */
  readonly typePausesMs: readonly number[] | null;
  readonly typeElapsedMs: number | null;
  readonly endpointTimeoutMs: number | null;
  readonly endpointPausesMs: readonly number[] | null;
  readonly endpointElapsedMs: number | null;
}

/** What one look found. */
export interface TakenBatch {
  readonly deliveries: readonly TakenDelivery[];
  /** Queues that it came by; some may have had nothing to take, since their endpoint is behind or another relay has it. */
  readonly queues: number;
  /** Where to go on; undefined where the look came to the end of the queues. */
  readonly next: QueuePlace | undefined;
}

/** Rows as they come: without a delivery where nothing was taken. */
type TakenRow = {
  readonly [Field in keyof TakenDelivery]: Field extends 'publishedAt'
    ? Date | string
    : Field extends 'typePausesMs' | 'endpointPausesMs'
      ? readonly (string | number)[] | null
      : Field extends 'typeElapsedMs' | 'endpointElapsedMs'
        ? string | number | null
        : TakenDelivery[Field];
} & {
  /** The place of its queue among those looked at, from 1. */
  readonly nth: number;
};

interface SeenRow {
  readonly queues: number;
  readonly lastTenant: string | null;
  readonly lastEndpoint: string | null;
}

/**
 * Takes queued deliveries for a relay to start, a few of each endpoint's queue, so that none waits for another's flood.
 * What is taken stays queued under a lease: where the relay dies, the next one takes it when that is over.
 *
 * It jumps from queue to queue by the index instead of reading them, and in each reads the oldest rows only. Rows that
 * another relay is just taking are passed over, not waited for. Nothing remembers a position in time, so a row whose
 * transaction commits late is found like any other. The window is a bound for the flow, not for the row: relays side by
 * side may together exceed it by what each takes in one turn.
 */
export async function takeQueued(sql: Sql, schema: SchemaName, take: TakeQueued): Promise<TakenBatch> {
  const deliveries = `${schema}.publication_deliveries`;
  const { rows } = await sql<SeenRow & (TakenRow | { readonly publication: null })>(
    `WITH RECURSIVE queues AS (
       (SELECT 1 AS nth, d.tenant, d.endpoint FROM ${deliveries} d
        WHERE d.state = 'queued' AND (d.tenant, d.endpoint) > ($1, $2)
        ORDER BY d.tenant, d.endpoint LIMIT 1)
       UNION ALL
       SELECT q.nth + 1, next.tenant, next.endpoint
       FROM queues q CROSS JOIN LATERAL (
         SELECT d.tenant, d.endpoint FROM ${deliveries} d
         WHERE d.state = 'queued' AND (d.tenant, d.endpoint) > (q.tenant, q.endpoint)
         ORDER BY d.tenant, d.endpoint LIMIT 1
       ) next
       WHERE q.nth < $4
     ), heads AS (
       SELECT q.nth, picked.*
       FROM queues q
       LEFT JOIN ${schema}.endpoints o ON o.tenant = q.tenant AND o.id = q.endpoint
       CROSS JOIN LATERAL (SELECT ${windowOf('o.concurrency', '$6')} AS size) bound
       CROSS JOIN LATERAL (
         SELECT count(*) AS waiting FROM (
           SELECT 1 FROM ${deliveries} d
           WHERE d.tenant = q.tenant AND d.endpoint = q.endpoint AND d.state = 'started' AND d.attempts = 0
           LIMIT bound.size
         ) started
       ) ahead
       CROSS JOIN LATERAL (
         SELECT d.tenant, d.endpoint, d.publication FROM ${deliveries} d
         WHERE d.tenant = q.tenant AND d.endpoint = q.endpoint AND d.state = 'queued'
           AND d.relay_until <= clock_timestamp()
         ORDER BY d.queued_at
         LIMIT least($5::bigint, bound.size - ahead.waiting)
         FOR UPDATE SKIP LOCKED
       ) picked
       LIMIT $3
     ), taken AS (
       UPDATE ${deliveries} d SET relay_until = clock_timestamp() + $7 * interval '1 millisecond'
       FROM heads h
       JOIN ${schema}.publications p ON p.tenant = h.tenant AND p.publication = h.publication
       LEFT JOIN ${schema}.endpoints e ON e.tenant = h.tenant AND e.id = h.endpoint
       WHERE d.tenant = h.tenant AND d.publication = h.publication AND d.endpoint = h.endpoint
       RETURNING h.nth, d.tenant, d.publication, d.endpoint, d.queued_at, p.event_id, p.type, p.published_at, p.retried,
                 p.pauses_ms, p.elapsed_ms, e.timeout_ms, e.pauses_ms AS endpoint_pauses, e.elapsed_ms AS endpoint_elapsed
     ), seen AS (
       SELECT count(*)::integer AS queues,
              (SELECT tenant FROM queues ORDER BY nth DESC LIMIT 1) AS tenant,
              (SELECT endpoint FROM queues ORDER BY nth DESC LIMIT 1) AS endpoint
       FROM queues
     )
     SELECT t.nth, t.tenant, t.publication, t.endpoint, t.event_id AS "eventId", t.type, t.published_at AS "publishedAt",
            t.retried, (extract(epoch FROM clock_timestamp() - t.queued_at) * 1000)::float8 AS "waitedMs",
            t.pauses_ms AS "typePausesMs", t.elapsed_ms AS "typeElapsedMs", t.timeout_ms AS "endpointTimeoutMs",
            t.endpoint_pauses AS "endpointPausesMs", t.endpoint_elapsed AS "endpointElapsedMs",
            s.queues, s.tenant AS "lastTenant", s.endpoint AS "lastEndpoint"
     FROM seen s LEFT JOIN taken t ON true
     ORDER BY t.queued_at`,
    [
      take.after?.tenant ?? '',
      take.after?.endpoint ?? '',
      take.limit,
      take.queues,
      take.perQueue,
      take.window,
      take.leaseMs,
    ],
  );
  const taken = rows.flatMap((row) => (row.publication === null ? [] : [row]));
  return {
    deliveries: inTurn(taken.map(readRow)),
    queues: rows[0]?.queues ?? 0,
    next: placeAfter(rows[0], taken, take),
  };
}

/** The first of each queue before the second of any: whoever starts them in this order makes none wait for another's flood. */
function inTurn(deliveries: readonly TakenDelivery[]): TakenDelivery[] {
  const taken = new Map<string, number>();
  const placed = deliveries.map((delivery) => {
    const queue = JSON.stringify([delivery.tenant, delivery.endpoint]);
    const place = taken.get(queue) ?? 0;
    taken.set(queue, place + 1);
    return { delivery, place };
  });
  return placed.sort((one, other) => one.place - other.place).map(({ delivery }) => delivery);
}

/** The order of queues is the database's, whatever its collation, so it is not compared here. */
function placeAfter(
  seen: SeenRow | undefined,
  taken: readonly TakenRow[],
  { limit, queues }: TakeQueued,
): QueuePlace | undefined {
  if (taken.length >= limit) {
    const { tenant, endpoint } = taken.reduce((last, row) => (row.nth > last.nth ? row : last));
    return { tenant, endpoint };
  }
  if (!seen || seen.queues < queues || seen.lastTenant === null || seen.lastEndpoint === null) return undefined;
  return { tenant: seen.lastTenant, endpoint: seen.lastEndpoint };
}

function readRow(row: TakenRow): TakenDelivery {
  return {
    tenant: row.tenant,
    publication: row.publication,
    endpoint: row.endpoint,
    eventId: row.eventId,
    type: row.type,
    publishedAt: new Date(row.publishedAt),
    retried: row.retried,
    waitedMs: row.waitedMs,
    typePausesMs: numbers(row.typePausesMs),
    typeElapsedMs: number(row.typeElapsedMs),
    endpointTimeoutMs: row.endpointTimeoutMs,
    endpointPausesMs: numbers(row.endpointPausesMs),
    endpointElapsedMs: number(row.endpointElapsedMs),
  };
}

/** A bigint comes as text. */
function number(value: string | number | null): number | null {
  return value === null ? null : Number(value);
}

function numbers(values: readonly (string | number)[] | null): readonly number[] | null {
  return values === null ? null : values.map(Number);
}
