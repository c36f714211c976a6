import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { outboxChannel } from './outbox-channel.js';

/** What is to be written of one publication. */
export interface NewPublication {
  /** '' where there is none. */
  readonly tenant: string;
  readonly publication: string;
  readonly eventId: string;
  readonly type: string;
  /** Of type, data and options: equal for equal content. */
  readonly digest: string;
  /** The bytes of every attempt at every endpoint, as JSON text. */
  readonly body: string;
  /** False: one attempt per endpoint. */
  readonly retried: boolean;
  /** What its type declares; null for the default. */
  readonly pausesMs: readonly number[] | null;
  readonly elapsedMs: number | null;
  /** JSON: event, effect and business key of the effect that published it. */
  readonly cause: string | null;
  /** Key of that event. Default null. */
  readonly causedBy?: string | null;
  /** The patterns that its type matches; see `candidatePatterns`. */
  readonly patterns: readonly string[];
  /** Ids of endpoints that do not get it, although they subscribe. */
  readonly except?: readonly string[];
}

/** A publication that this statement wrote. */
export interface InsertedPublication {
  /** In the list given, from 0. */
  readonly index: number;
  readonly publishedAt: Date;
  /** Ids of the endpoints that get it, in their order. */
  readonly endpoints: readonly string[];
}

/**
 * Writes publications together with one delivery per subscribed endpoint, and wakes the relays: all of it in this one
 * statement, so that there is no moment with a publication and half of its deliveries. What exists already, by its identity
 * or by its event id, is left as it is and is missing from the answer; no unique violation aborts the caller's transaction.
 *
 * @param publications Distinct by tenant and publication; best in that order, so that two such statements side by side wait
 * for each other instead of deadlocking.
 * @throws PostgreSQL's 40001 in a REPEATABLE READ or SERIALIZABLE transaction, where another one wrote the same meanwhile.
 * @see PostgreSQL manual, INSERT, ON CONFLICT: it waits for a transaction that writes the same key, and then finds its row.
 */
export async function insertPublications(
  sql: Sql,
  schema: SchemaName,
  publications: readonly NewPublication[],
): Promise<readonly InsertedPublication[]> {
  const { rows } = await sql<{ index: number; publishedAt: Date | string; endpoints: readonly string[] }>(
    `WITH wanted AS (
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[],
                            $8::text[], $9::bigint[], $10::text[], $11::text[], $12::text[], $14::text[])
         WITH ORDINALITY AS row (tenant, publication, event_id, type, digest, body, retried,
                                 pauses, elapsed_ms, cause, patterns, except_ids, caused_by, position)
     ), written AS (
       INSERT INTO ${schema}.publications
         (tenant, publication, event_id, type, digest, body, retried, pauses_ms, elapsed_ms, cause, caused_by)
       SELECT tenant, publication, event_id, type, digest, body, retried,
              (SELECT array_agg(pause::bigint ORDER BY nth)
               FROM json_array_elements_text(pauses::json) WITH ORDINALITY AS list (pause, nth)),
              elapsed_ms, cause, caused_by
       FROM wanted ORDER BY position
       ON CONFLICT DO NOTHING
       RETURNING tenant, publication, published_at
     ), queued AS (
       INSERT INTO ${schema}.publication_deliveries (tenant, publication, endpoint)
       SELECT w.tenant, w.publication, e.id
       FROM written JOIN wanted w USING (tenant, publication)
       JOIN ${schema}.endpoints e ON e.tenant = w.tenant AND e.state <> 'removed'
         AND e.types && ARRAY(SELECT json_array_elements_text(w.patterns::json))
         AND e.id <> ALL(ARRAY(SELECT json_array_elements_text(w.except_ids::json)))
       ORDER BY w.position, e.id
       RETURNING tenant, publication, endpoint
     )
     SELECT (w.position - 1)::integer AS index, written.published_at AS "publishedAt",
            ARRAY(SELECT q.endpoint FROM queued q
                  WHERE q.tenant = w.tenant AND q.publication = w.publication ORDER BY q.endpoint) AS endpoints,
            (SELECT pg_notify($13, '') FROM queued LIMIT 1) AS notified
     FROM written JOIN wanted w USING (tenant, publication)`,
    [
      publications.map(({ tenant }) => tenant),
      publications.map(({ publication }) => publication),
      publications.map(({ eventId }) => eventId),
      publications.map(({ type }) => type),
      publications.map(({ digest }) => digest),
      publications.map(({ body }) => body),
      publications.map(({ retried }) => retried),
      publications.map(({ pausesMs }) => (pausesMs === null ? null : JSON.stringify(pausesMs))),
      publications.map(({ elapsedMs }) => elapsedMs),
      publications.map(({ cause }) => cause),
      publications.map(({ patterns }) => JSON.stringify(patterns)),
      publications.map(({ except }) => JSON.stringify(except ?? [])),
      outboxChannel(schema),
      publications.map(({ causedBy }) => causedBy ?? null),
    ],
  );
  return rows.map(({ index, publishedAt, endpoints }) => ({ index, publishedAt: new Date(publishedAt), endpoints }));
}
