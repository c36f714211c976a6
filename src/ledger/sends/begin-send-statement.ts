import { interval } from '../held-claim.js';
import type { SchemaName } from '../schema-name.js';
import { budgetColumns } from './delivery-budget.js';
import { creditMs, spacing } from './pace.js';
import { usableSlots } from './usable-slots.js';

/**
 * The statement of `beginSend`. Its parts in the order in which they run, each because the next one reads it:
 *
 * 1. `delivery` locks the delivery's row, so that of two attempts at it, or an attempt and its end, one sees the other.
 * 2. `found` says whether it may be sent. Of an attempt under way the delivery's own row tells, since a locked row is its
 *    newest version: two that begin at once do not find each other's attempts.
 * 3. `pace` locks the row of a rate limit; `clock` reads the time once it is held, since under READ COMMITTED everything
 *    else shows the moment at which the statement began, and the wait for the lock may have been long.
 * 4. `turn` finds the delivery's place in the queue, and when it is due.
 * 5. `free` locks a slot, first one that was handed over to this delivery, passing over those that others are just taking;
 *    `taken` takes it.
 * 6. `paced`, `changed`, `waits`, `unknown` and `attempt` write down what follows from that.
 *
 * Locks are taken in the same order everywhere: the delivery, and with it its attempts; the endpoint; its pace; its slots.
 *
 * The queue: a place is named by the moment at which its turn would come if nothing ever stood still. Real time and queue
 * are tied by `next_at`, when the place after `head_at` may go; a queue whose workers were away for an hour is not an hour
 * of requests that are due at once. Whoever is due goes, also out of turn, so a place whose owner does not come back costs
 * its own time and no more. Who comes without a ticket stands at the end of the queue.
 */
export function beginSendStatement(schema: SchemaName): string {
  return `WITH delivery AS MATERIALIZED (
       SELECT d.state, d.possible_arrivals, d.sending, d.sending_until, d.waiting_since, d.abandoned_by, d.abandoned_reason, ${lifts(schema)} AS lifts
       FROM ${schema}.publication_deliveries d
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3
       FOR UPDATE OF d
     ), found AS MATERIALIZED (
       SELECT CASE WHEN d.state = 'delivered' AND NOT d.lifts THEN 'delivered'
                   WHEN d.state = 'abandoned' AND NOT d.lifts THEN 'abandoned'
                   WHEN e.state IS NULL OR e.state = 'removed' THEN 'removed'
                   WHEN d.sending = $4::uuid THEN 'again'
                   WHEN d.sending_until > clock_timestamp() THEN 'under_way'
                   WHEN e.at_most_once AND d.possible_arrivals > 0 AND NOT d.lifts THEN 'unknown_before'
                   WHEN e.state <> 'enabled' THEN 'held'
                   ELSE 'free' END AS verdict,
              d.lifts, d.sending_until, d.waiting_since, d.abandoned_by, d.abandoned_reason, e.state, e.url, e.headers, e.headers_key, e.at_most_once,
              e.version, e.rate_limit, ${usableSlots('e')} AS usable, p.body, p.event_id, p.type, ${budgetColumns('e', 'p')}
       FROM delivery d
       JOIN ${schema}.publications p ON p.tenant = $1 AND p.publication = $3
       LEFT JOIN ${schema}.endpoints e ON e.tenant = $1 AND e.id = $2
     ), pace AS MATERIALIZED (
       SELECT p.next_at, p.head_at, p.tail_at, p.version = f.version AS same_queue, f.version,
              ${spacing('f.rate_limit')} AS spacing
       FROM ${schema}.endpoint_pace p JOIN found f ON f.verdict = 'free' AND f.rate_limit IS NOT NULL
       WHERE p.tenant = $1 AND p.endpoint = $2
       FOR UPDATE OF p
     ), clock AS MATERIALIZED (
       SELECT count(*) AS locked, clock_timestamp() AS now FROM pace
     ), queue AS MATERIALIZED (
       SELECT p.spacing, p.version, next.at AS next_at,
              -- An empty queue begins with the place that is served next.
              CASE WHEN p.same_queue AND p.tail_at > p.head_at THEN p.head_at
                   ELSE greatest(next.at, c.now) - p.spacing END AS head_at,
              CASE WHEN p.same_queue THEN p.tail_at ELSE '-infinity' END AS tail_at,
              CASE WHEN $11::bigint = p.version THEN $10::timestamptz END AS ticket
       FROM pace p CROSS JOIN clock c
       CROSS JOIN LATERAL (
         -- The pause of a slower limit does not outlive it.
         SELECT CASE WHEN p.same_queue THEN p.next_at ELSE least(p.next_at, c.now + p.spacing) END AS at
       ) next
     ), turn AS MATERIALIZED (
       SELECT q.spacing, q.version, q.next_at, q.head_at, q.ticket, place.at AS place,
              greatest(q.tail_at, place.at) AS tail_at,
              q.next_at + greatest(place.at - q.head_at - q.spacing, interval '0') AS due_at
       FROM queue q
       CROSS JOIN LATERAL (
         SELECT coalesce(q.ticket, greatest(q.tail_at, q.head_at) + q.spacing) AS at
       ) place
     ), free AS MATERIALIZED (
       SELECT s.slot
       FROM ${schema}.endpoint_slots s
       JOIN found f ON f.verdict = 'free'
       CROSS JOIN clock c
       LEFT JOIN turn t ON true
       -- A larger limit's slots may be left, for requests of its time.
       WHERE s.tenant = $1 AND s.endpoint = $2 AND s.slot <= f.usable
         AND (s.lease_until <= clock_timestamp() OR s.reserved_for = $3)
         AND (f.rate_limit IS NULL OR t.due_at <= c.now)
       ORDER BY (s.reserved_for = $3) IS NOT TRUE, s.slot LIMIT 1
       FOR UPDATE OF s SKIP LOCKED
     ), taken AS (
       UPDATE ${schema}.endpoint_slots s
       SET held_by = $4::uuid, reserved_for = NULL,
           lease_until = clock_timestamp() + ${interval('(coalesce(f.timeout_ms, $8::float8) + $7::float8)')}
       FROM free CROSS JOIN found f
       WHERE s.tenant = $1 AND s.endpoint = $2 AND s.slot = free.slot
       RETURNING s.lease_until
     ), lacking AS MATERIALIZED (
       SELECT coalesce(f.verdict = 'free' AND k.lease_until IS NULL AND (f.rate_limit IS NULL OR t.due_at <= c.now), false)
                AS slot
       FROM found f CROSS JOIN clock c LEFT JOIN turn t ON true LEFT JOIN taken k ON true
     ), paced AS (
       UPDATE ${schema}.endpoint_pace p
       SET version = t.version, tail_at = t.tail_at,
           head_at = CASE WHEN k.lease_until IS NULL THEN t.head_at ELSE greatest(t.head_at, t.place) END,
           next_at = CASE WHEN k.lease_until IS NULL THEN t.next_at
                          WHEN t.ticket IS NULL THEN c.now + t.spacing
                          ELSE greatest(t.next_at, c.now - ${interval(String(creditMs))}) + t.spacing END
       FROM turn t CROSS JOIN clock c LEFT JOIN taken k ON true
       WHERE p.tenant = $1 AND p.endpoint = $2
         AND (k.lease_until IS NOT NULL OR t.ticket IS NULL)
     ), changed AS (
       UPDATE ${schema}.publication_deliveries d
       SET state = 'started', started_at = coalesce(d.started_at, clock_timestamp()), ended_at = NULL,
           attempts = d.attempts + CASE WHEN k.lease_until IS NULL THEN 0 ELSE 1 END,
           possible_arrivals = CASE WHEN f.lifts THEN 0 ELSE d.possible_arrivals END
                             + CASE WHEN k.lease_until IS NULL THEN 0 ELSE 1 END,
           sending = CASE WHEN k.lease_until IS NULL THEN d.sending ELSE $4::uuid END,
           sending_until = coalesce(k.lease_until, d.sending_until),
           waiting_since = CASE WHEN l.slot THEN coalesce(d.waiting_since, clock_timestamp()) END,
           replay = CASE WHEN f.lifts THEN $9 ELSE d.replay END, abandoned_by = NULL, abandoned_reason = NULL
       FROM found f CROSS JOIN lacking l LEFT JOIN taken k ON true
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3
         AND (k.lease_until IS NOT NULL OR (f.lifts AND f.verdict <> 'under_way'))
     ), waits AS (
       UPDATE ${schema}.publication_deliveries d SET waiting_since = CASE WHEN l.slot THEN clock_timestamp() END
       FROM found f CROSS JOIN lacking l LEFT JOIN taken k ON true
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3
         AND k.lease_until IS NULL AND NOT (f.lifts AND f.verdict <> 'under_way')
         AND l.slot = (d.waiting_since IS NULL)
     ), unknown AS (
       UPDATE ${schema}.publication_attempts a
       SET ended = 'outcome_unknown', ended_at = clock_timestamp(), code = 'outcome_unknown'
       FROM found f LEFT JOIN taken k ON true
       WHERE a.tenant = $1 AND a.publication = $3 AND a.endpoint = $2 AND a.ended IS NULL
         AND (k.lease_until IS NOT NULL OR f.verdict = 'unknown_before')
       RETURNING 1
     ), attempt AS (
       INSERT INTO ${schema}.publication_attempts
         (id, tenant, publication, endpoint, run_id, attempt, endpoint_version, lease_until)
       SELECT $4::uuid, $1, $3, $2, $5::text, $6::integer, f.version, k.lease_until FROM found f CROSS JOIN taken k
     )
     SELECT f.verdict, f.abandoned_by, f.abandoned_reason, f.state, f.type, f.event_id, f.url, f.at_most_once,
            f.version::float8 AS version, f.timeout_ms, f.pauses_ms, f.elapsed_ms, f.retried,
            f.type_pauses_ms, f.type_elapsed_ms,
            b.begun, b.lease_until, (extract(epoch FROM b.lease_until - clock_timestamp()) * 1000)::float8 AS left_ms,
            CASE WHEN b.begun THEN f.body END AS body,
            CASE WHEN b.begun THEN encode(f.headers, 'base64') END AS headers, f.headers_key,
            CASE WHEN b.begun THEN ${secrets(schema)} END AS secrets,
            (SELECT count(*) FROM unknown)::float8 AS unknown_before,
            CASE WHEN t.due_at > c.now THEN (extract(epoch FROM t.due_at - c.now) * 1000)::float8 END AS wait_ms,
            t.place, l.slot AND f.waiting_since IS NULL AS queued,
            f.verdict = 'free' AND k.lease_until IS NULL
              AND (f.rate_limit IS NOT NULL AND t.due_at IS NULL
                OR NOT EXISTS (SELECT 1 FROM ${schema}.endpoint_slots s WHERE s.tenant = $1 AND s.endpoint = $2)) AS unready
     FROM found f CROSS JOIN clock c CROSS JOIN lacking l LEFT JOIN turn t ON true LEFT JOIN taken k ON true
     CROSS JOIN LATERAL (
       SELECT f.verdict = 'again' OR k.lease_until IS NOT NULL AS begun,
              CASE WHEN f.verdict IN ('again', 'under_way') THEN f.sending_until ELSE k.lease_until END AS lease_until
     ) b`;
}

/**
 * A replay lifts the end of a delivery once: not where it has done so before, and not where a later act has, since a reset
 * runs the input of an old replay again.
 */
function lifts(schema: SchemaName): string {
  return `($9::text IS NOT NULL AND d.replay IS DISTINCT FROM $9
              AND NOT EXISTS (SELECT 1 FROM ${schema}.acts later JOIN ${schema}.acts this USING (tenant, event_key)
                              WHERE later.tenant = $1 AND this.id = $9 AND later.at > this.at
                                AND (later.id = d.replay OR later.kind = 'abandon')))`;
}

/** Text, since libraries differ in what they make of arrays of bytes. */
function secrets(schema: SchemaName): string {
  return `(SELECT json_agg(json_build_object('id', s.id, 'sealed', encode(s.sealed, 'base64'), 'key', s.sealed_by)
                              ORDER BY s.created_at DESC, s.id)::text
               FROM ${schema}.endpoint_secrets s
               WHERE s.tenant = $1 AND s.endpoint = $2 AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp()))`;
}
