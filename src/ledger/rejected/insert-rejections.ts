import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import type { RejectedCount, RejectedRequest } from './rejection.js';

/** Samples kept of one source and hour, whatever the number of processes. */
export const samplesPerHour = 100;

/**
 * Adds to the counts, and keeps of the samples what still fits into their source's hour.
 *
 * Samples of several transactions at once do not see each other: whoever must not exceed the limit takes
 * {@link lockRejections} before.
 */
export async function insertRejections(
  sql: Sql,
  schema: SchemaName,
  counts: readonly RejectedCount[],
  samples: readonly RejectedRequest[],
): Promise<void> {
  await sql(
    `WITH offered AS (
       SELECT *, row_number() OVER (PARTITION BY source, hour ORDER BY position) AS nth
       FROM unnest($6::text[], $7::text[], $8::text[], $9::integer[], $10::text[], $11::text[], $12::text[], $13::text[],
                   $14::integer[], $15::timestamptz[], $16::timestamptz[], $17::bytea[], $18::text[], $19::timestamptz[])
         WITH ORDINALITY AS sample (source, code, reason, status, method, headers, network, digest, bytes, received_at,
                                    hour, body, body_key, body_until, position)
     ), hours AS (
       SELECT h.source, h.hour, (
         SELECT count(*) FROM (
           SELECT 1 FROM ${schema}.rejected_requests r
           WHERE r.source = h.source AND r.received_at >= h.hour AND r.received_at < h.hour + interval '1 hour'
           LIMIT $20
         ) counted
       ) AS rows
       FROM (SELECT DISTINCT source, hour FROM offered) h
     ), kept AS (
       INSERT INTO ${schema}.rejected_requests
         (source, code, reason, status, method, headers, network, digest, bytes, received_at, body, body_key, body_until)
       SELECT o.source, o.code, o.reason, o.status, o.method, o.headers, o.network, o.digest, o.bytes, o.received_at,
              o.body, o.body_key, o.body_until
       FROM offered o JOIN hours ON hours.source = o.source AND hours.hour = o.hour
       WHERE hours.rows + o.nth <= $20
       ORDER BY o.position
       RETURNING source, code, reason, received_at
     )
     INSERT INTO ${schema}.rejected_counts AS c (hour, source, code, reason, count, sampled)
     SELECT n.hour, n.source, n.code, n.reason, n.count, (
       SELECT count(*) FROM kept k
       WHERE k.source = n.source AND k.code = n.code AND k.reason = n.reason
         AND k.received_at >= n.hour AND k.received_at < n.hour + interval '1 hour'
     )
     FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS n (hour, source, code, reason, count)
     -- In one order in every process, so that none waits for another's row in a circle.
     ORDER BY n.hour, n.source, n.code, n.reason
     ON CONFLICT (hour, source, code, reason) DO UPDATE
       SET count = c.count + EXCLUDED.count, sampled = c.sampled + EXCLUDED.sampled`,
    [
      counts.map(({ hour }) => hour.toISOString()),
      counts.map(({ source }) => source),
      counts.map(({ code }) => code),
      counts.map(({ reason }) => reason),
      counts.map(({ count }) => count),
      samples.map(({ source }) => source),
      samples.map(({ code }) => code),
      samples.map(({ reason }) => reason),
      samples.map(({ status }) => status),
      samples.map(({ method }) => method),
      samples.map(({ headers }) => headers),
      samples.map(({ network }) => network),
      samples.map(({ digest }) => digest),
      samples.map(({ bytes }) => bytes),
      samples.map(({ receivedAt }) => receivedAt.toISOString()),
      samples.map(({ receivedAt }) => hourOf(receivedAt).toISOString()),
      samples.map(({ body }) => body && Buffer.from(body.sealed)),
      samples.map(({ body }) => body?.key),
      samples.map(({ body }) => body?.until.toISOString()),
      samplesPerHour,
    ],
  );
}

/** Lets one transaction at a time look how many samples there are and add its own. Ends with the transaction. */
export async function lockRejections(sql: Sql, schema: SchemaName): Promise<void> {
  await sql('SELECT pg_advisory_xact_lock(hashtext($1))', [`${schema}.rejected_requests`]);
}

/** The begin of a time's hour, in UTC. */
export function hourOf(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 3_600_000) * 3_600_000);
}
