import { publicationKey } from '../../identity/publication-identity.js';
import { sha256 } from '../../runtime/sha256.js';
import type { SendEnd } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { storableText } from '../storable-text.js';
import { failingSince } from './failing-since.js';
import { freedSlot } from './freed-slot.js';
import { handOverSlots } from './hand-over-slots.js';

/** How an attempt ended. */
export type EndSend = SendEnd;

/** How things stand after the end of an attempt. */
export interface EndedSend {
  /** The delivery is delivered now. */
  readonly delivered: boolean;
  /** A 410 to this version of the endpoint has disabled it. */
  readonly disabled: boolean;
  /** First failed attempt since the last success, while there is one, and not from before its state was last changed. */
  readonly failingSince?: Date;
  /** How many notices its owner got since then, and when the last one. */
  readonly notices: number;
  readonly noticedAt?: Date;
  /** The endpoint had been failing, and this attempt, or one just before, ended that. */
  readonly recovered: boolean;
  /** Publications that slots of the endpoint were handed over to; whoever hears this tells them. Absent where none was. */
  readonly next?: readonly string[];
}

/**
 * What says something about the endpoint where no status came. The rest is our own doing: a secret without its key, a
 * worker that stops. Nobody's endpoint is disabled for that.
 */
const endpointCodes: ReadonlySet<string> = new Set([
  'dns_failed',
  'connection_refused',
  'connection_failed',
  'connection_reset',
  'tls_failed',
  'connect_timeout',
  'response_timeout',
  'response_malformed',
  'destination_refused',
]);

/** What leaves open whether the endpoint had the message, where no status came and nothing else is told. */
const mayHaveArrivedCodes: ReadonlySet<string> = new Set([
  'connection_reset',
  'response_timeout',
  'response_malformed',
]);

interface Row {
  readonly stale: boolean;
  readonly delivered: boolean;
  readonly disabled: boolean;
  readonly failing_since: Date | string | null;
  readonly notices: number;
  readonly noticed_at: Date | string | null;
  readonly recovered: boolean;
  readonly next: string | null;
  readonly more: boolean;
}

/**
 * Writes down how an attempt ended, and all that follows from it, in one statement: its slot is free again, or handed over
 * to the delivery that has waited longest for one; the delivery is delivered or knows its last failure; the endpoint is
 * failing, recovered, or disabled by its 410. An endpoint that is fine and stays so is not written.
 *
 * Safe to repeat for the same attempt, since the answer of the first call may be lost. An attempt that was given up
 * meanwhile, as of unknown outcome, may still end: that it arrived is true whenever it is heard, and a late failure
 * changes nothing. What the attempt learnt of the endpoint counts only for the version it was sent to: the owner may have
 * mended it since.
 */
export async function endSend(sql: Sql, schema: SchemaName, end: EndSend): Promise<EndedSend> {
  const values = [
    end.tenant,
    end.endpoint,
    end.publication,
    end.attemptId,
    end.version,
    end.ended,
    end.code,
    end.status,
    Math.round(end.durationMs),
    end.response?.bytes ?? null,
    end.response?.digest ?? null,
    end.response === undefined ? null : storableText(end.response.text),
    provesNothingSent(end),
    end.ended !== 'delivered' && (end.status !== null || endpointCodes.has(end.code ?? '')),
    publicationKey(end, sha256),
  ];
  let row: Row | undefined;
  let more = false;
  const next: string[] = [];
  for (let tries = 1; ; tries++) {
    [row] = (await sql<Row>(statement(schema), values)).rows;
    // The slot is freed by the first one.
    if (row?.next) next.push(row.next);
    more ||= row?.more === true;
    if (!row?.stale) break;
    if (tries === snapshotTries) throw new Error('the delivery was dead-lettered each time that its attempt ended');
  }
  // An endpoint that has recovered has got slots back, which nobody has held.
  if (more || row?.recovered) next.push(...(await handOverSlots(sql, schema, end)));
  return {
    delivered: row?.delivered === true,
    disabled: row?.disabled === true,
    notices: row?.notices ?? 0,
    recovered: row?.recovered === true,
    ...(row?.failing_since ? { failingSince: new Date(row.failing_since) } : {}),
    ...(row?.noticed_at ? { noticedAt: new Date(row.noticed_at) } : {}),
    ...(next.length > 0 ? { next } : {}),
  };
}

function provesNothingSent({ ended, code, status, mayHaveArrived }: EndSend): boolean {
  if ((ended !== 'retry' && ended !== 'rejected') || status !== null) return false;
  return !(mayHaveArrived ?? mayHaveArrivedCodes.has(code ?? ''));
}

/** A delivery is dead-lettered once and again only by another run, so a second snapshot nearly always shows its letter. */
const snapshotTries = 3;

/**
 * The snapshot of a statement that waited for the delivery's row is from before the wait. Where the delivery was
 * dead-lettered meanwhile, its letter is not in it and could not be closed: then nothing is written, and a new statement is
 * to be made.
 *
 * Locks are taken in the order that `beginSendStatement` tells.
 */
function statement(schema: SchemaName): string {
  return `WITH delivery AS MATERIALIZED (
       SELECT d.state FROM ${schema}.publication_deliveries d
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3
       FOR UPDATE OF d
     ), snapshot AS MATERIALIZED (
       SELECT d.state = 'dead_lettered' AND s.state <> 'dead_lettered' AS stale
       FROM delivery d JOIN ${schema}.publication_deliveries s
         ON s.tenant = $1 AND s.endpoint = $2 AND s.publication = $3
     ), before AS MATERIALIZED (
       SELECT a.ended IS NULL AS open,
              a.ended IS NULL OR (a.ended = 'outcome_unknown' AND $6 = 'delivered') AS counts
       FROM ${schema}.publication_attempts a CROSS JOIN (SELECT bool_or(stale) AS stale FROM snapshot) locked
       WHERE a.id = $4::uuid AND locked.stale IS NOT TRUE
       FOR UPDATE OF a
     ), ended AS (
       UPDATE ${schema}.publication_attempts a
       SET ended = $6, ended_at = clock_timestamp(), code = $7, status = $8::integer, duration_ms = $9::integer,
           response_bytes = $10::bigint, response_digest = $11, response_text = $12
       FROM before b
       WHERE a.id = $4::uuid AND b.counts
       RETURNING a.id
     ), written AS (
       UPDATE ${schema}.publication_deliveries d
       SET state = CASE WHEN $6 = 'delivered' THEN 'delivered' ELSE d.state END,
           ended_at = CASE WHEN $6 = 'delivered' THEN clock_timestamp() ELSE d.ended_at END,
           last_code = $7, last_status = $8::integer,
           possible_arrivals = d.possible_arrivals - CASE WHEN $13::boolean THEN 1 ELSE 0 END,
           sending = CASE WHEN d.sending = $4::uuid THEN NULL ELSE d.sending END,
           sending_until = CASE WHEN d.sending = $4::uuid THEN NULL ELSE d.sending_until END,
           waiting_since = CASE WHEN $6 = 'delivered' THEN NULL ELSE d.waiting_since END
       FROM before b
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3 AND b.counts
         AND (d.state IN ('queued', 'started') OR (d.state = 'dead_lettered' AND $6 = 'delivered'))
       RETURNING d.state
     ), closed AS (
       UPDATE ${schema}.dead_letters l SET closed_at = clock_timestamp(), closed_by = 'delivery'
       FROM written w
       WHERE l.tenant = $1 AND l.event_key = $15 AND l.closed_at IS NULL AND w.state = 'delivered'
     ), endpoint AS (
       UPDATE ${schema}.endpoints e
       SET failing_since = CASE WHEN $6 = 'delivered' THEN NULL ELSE coalesce(e.failing_since, clock_timestamp()) END,
           -- A notice of a recovery that was never sent is out of date once it fails again.
           notices = CASE WHEN $6 <> 'delivered' AND e.failing_since IS NULL THEN 0 ELSE e.notices END,
           state = CASE WHEN $6 = 'gone' THEN 'disabled' ELSE e.state END,
           state_code = CASE WHEN $6 = 'gone' THEN 'endpoint_gone' ELSE e.state_code END,
           state_reason = CASE WHEN $6 = 'gone' THEN '${goneReason}' ELSE e.state_reason END,
           state_at = CASE WHEN $6 = 'gone' THEN clock_timestamp() ELSE e.state_at END,
           updated_at = CASE WHEN $6 = 'gone' THEN clock_timestamp() ELSE e.updated_at END
       FROM before b
       WHERE e.tenant = $1 AND e.id = $2 AND e.version = $5::bigint AND b.counts
         AND CASE WHEN $6 = 'delivered' THEN e.failing_since IS NOT NULL
                  ELSE b.open AND e.state = 'enabled' AND $14::boolean AND ($6 = 'gone' OR e.failing_since IS NULL) END
       RETURNING e.state, e.state_code, e.state_at, e.failing_since, e.notices, e.noticed_at
     ), ${freedSlot(schema, 'endpoint')}
     SELECT coalesce((SELECT w.state FROM written w), (SELECT d.state FROM delivery d)) = 'delivered' AS delivered,
            $6 = 'gone' AND coalesce(n.state_code, e.state_code) = 'endpoint_gone'
              AND coalesce(n.state, e.state) = 'disabled' AND e.version = $5::bigint AS disabled,
            CASE WHEN n.state IS NULL THEN ${failingSince('e')} ELSE ${failingSince('n')} END AS failing_since,
            (SELECT s.stale FROM snapshot s) IS TRUE AS stale,
            coalesce(n.notices, e.notices) AS notices, coalesce(n.noticed_at, e.noticed_at) AS noticed_at,
            $6 = 'delivered' AND (n.state IS NOT NULL OR (e.failing_since IS NULL AND e.notices > 0)) AS recovered,
            (SELECT f.reserved_for FROM freed f) AS next, (SELECT m.found FROM more m) IS TRUE AS more
     FROM (SELECT 1) one
     LEFT JOIN ${schema}.endpoints e ON e.tenant = $1 AND e.id = $2
     LEFT JOIN endpoint n ON true`;
}

/** What the owner reads. */
const goneReason = 'It answered 410: it wants no more.';
