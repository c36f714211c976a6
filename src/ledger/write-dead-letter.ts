import { unknownDigest } from '../workflows/contract.js';
import type { Sql } from './database.js';
import { genuineIdentity } from './genuine-identity.js';
import type { SchemaName } from './schema-name.js';
import { storableText } from './storable-text.js';

/** Everything a person needs to judge a failed event, and the machine to run it again. */
export interface DeadLetter {
  readonly tenant: string;
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly digest: string;
  readonly receivedAt: string;
  /** Why the event ended: a stable code, and a sentence. */
  readonly code: string;
  readonly message: string;
  /** The workflow's input as JSON text, without the body. */
  readonly input: string;
  /** JSON text: each effect with its business key, outcome, attempts and the reason of every attempt. */
  readonly effects: string;
  readonly runId: string;
  /** The event's JSON text, where it travelled in the input; kept so that a replay needs neither provider nor history. */
  readonly body: Uint8Array | undefined;
}

/** What became of a dead letter that was to be written. */
export interface WrittenDeadLetter {
  /** The event has an open dead letter now. False where it completed or was abandoned meanwhile. */
  readonly open: boolean;
  /** This call opened it or added an occurrence; false where the same run had been written before. */
  readonly counted: boolean;
}

/** What the latest run has to say. */
const letterColumns = ['source', 'event_id', 'type', 'code', 'message', 'input', 'effects'];

/** A run with a malformed input says nothing about the event that a genuine one has recorded; it only counts. */
function takenOver(column: string): string {
  return `${column} = CASE WHEN $6 = '${unknownDigest}' AND (SELECT digest FROM event) <> $6 THEN l.${column} ELSE EXCLUDED.${column} END`;
}

/**
 * Opens the event's dead letter, or counts another occurrence in the open one; writing it again for the same run changes
 * nothing. What a run with a malformed input writes never replaces what a genuine one wrote. An event that completed or was abandoned meanwhile gets none.
 */
export async function writeDeadLetter(sql: Sql, schema: SchemaName, letter: DeadLetter): Promise<WrittenDeadLetter> {
  const { rows } = await sql<WrittenDeadLetter>(
    `WITH event AS (
       INSERT INTO ${schema}.events AS e
         (tenant, event_key, source, event_id, type, digest, input, received_at, remaining, state, ended_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 'dead_lettered', clock_timestamp())
       ON CONFLICT (tenant, event_key) DO UPDATE
         SET state = 'dead_lettered',
             ended_at = CASE WHEN e.state = 'dead_lettered' THEN e.ended_at ELSE clock_timestamp() END,
             ${genuineIdentity}
         WHERE e.state NOT IN ('done', 'abandoned')
       RETURNING source, event_id, type, digest, input
     ), body AS (
       INSERT INTO ${schema}.payloads (tenant, event_key, digest, body)
       SELECT $1, $2, $6, $9 FROM event WHERE $9::bytea IS NOT NULL
       ON CONFLICT DO NOTHING
     ), letter AS (
       INSERT INTO ${schema}.dead_letters AS l
         (tenant, event_key, source, event_id, type, code, message, input, effects, runs)
       SELECT $1, $2, source, event_id, type, $10, $11, CASE WHEN $6 = '${unknownDigest}' THEN input ELSE $7 END, $12,
              ARRAY[$13::text]
       FROM event
       ON CONFLICT (tenant, event_key) WHERE closed_at IS NULL DO UPDATE
         SET ${letterColumns.map(takenOver).join(', ')},
             runs = l.runs || EXCLUDED.runs, occurrences = l.occurrences + CASE WHEN l.parked THEN 0 ELSE 1 END,
             parked = false, last_at = clock_timestamp()
         WHERE NOT l.runs @> EXCLUDED.runs
       RETURNING 1
     )
     SELECT EXISTS (SELECT 1 FROM event) AS open, EXISTS (SELECT 1 FROM letter) AS counted`,
    [
      letter.tenant,
      storableText(letter.eventKey),
      letter.source,
      storableText(letter.id),
      letter.type,
      letter.digest,
      letter.input,
      letter.receivedAt,
      letter.body ?? null,
      storableText(letter.code),
      storableText(letter.message),
      letter.effects,
      letter.runId,
    ],
  );
  return rows[0] ?? { open: false, counted: false };
}
