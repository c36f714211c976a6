import { OnefoldError } from '../errors.js';
import type { Sql } from './database.js';
import { type HeldClaim, heldValues, stillHeld } from './held-claim.js';
import type { SchemaName } from './schema-name.js';

/** A claim that is to become a completion. */
export interface Completion {
  readonly tenant: string;
  readonly effect: string;
  /** Every name that the effect has had: it was claimed under all of them, and planned under any. */
  readonly names: readonly string[];
  readonly businessKey: string;
  readonly eventKey: string;
  readonly owner: string;
  /** Of the claim, under each of the names. */
  readonly fences: readonly number[];
  /** The transaction that claimed, as `pg_current_xact_id()` named it. */
  readonly transaction: string;
  /** The result as JSON text. */
  readonly result: string;
}

/**
 * Completes a claim, ends the effect for its event, and with the event's last effect the event and its open dead letter:
 * the last work of the transaction.
 *
 * @throws {OnefoldError} `abandoned` when the event was abandoned during the attempt; the row of the event decides which
 * of the two came first, and the caller's transaction must be rolled back.
 * @throws {OnefoldError} `transaction_split` when the claim was made in another transaction, so that the effect must have
 * ended it; what it wrote is committed already, and the claim stays as the mark of that.
 */
export async function completeEffect(sql: Sql, schema: SchemaName, completion: Completion): Promise<void> {
  const { rows } = await sql<EndedEvent>(
    `WITH completed AS (
       UPDATE ${schema}.effects SET state = 'done', done_at = clock_timestamp(), result = $7
       WHERE tenant = $1 AND effect = ANY($9) AND business_key = $3 AND state = 'claimed'
         AND owner = $5 AND fence = ANY($6::bigint[]) AND pg_current_xact_id()::text = $8
       RETURNING 1
     ), ${endOfEffect(schema, { tenant: '$1', eventKey: '$4', completedAs: '$2', outcome: "'done'", names: '$9' })}`,
    [
      completion.tenant,
      completion.effect,
      completion.businessKey,
      completion.eventKey,
      completion.owner,
      completion.fences,
      completion.result,
      completion.transaction,
      completion.names,
    ],
  );
  const [ended] = rows;
  if (!ended) {
    throw new OnefoldError(
      'transaction_split',
      'the effect ended the transaction of its claim, so its write is committed without a completion',
    );
  }
  await settleEvent(sql, schema, completion, ended);
}

/**
 * Completes the claim of an external effect, if it is still held: the last work of the transaction. The call has been made,
 * so it is recorded as done even where its event was abandoned meanwhile.
 *
 * @param completion.outcome How it ends the event: `already_done` where the work finished is another event's.
 * @returns False where the claim is not held any more; the caller's transaction must be rolled back then.
 */
export async function completeExternal(
  sql: Sql,
  schema: SchemaName,
  completion: {
    readonly claim: HeldClaim;
    readonly eventKey: string;
    readonly outcome: 'done' | 'already_done';
    /** The result as JSON text. */
    readonly result: string;
  },
): Promise<boolean> {
  const { claim, eventKey } = completion;
  const { rows } = await sql<EndedEvent>(
    `WITH completed AS (
       UPDATE ${schema}.effects AS c
       SET state = 'done', done_at = clock_timestamp(), result = $6, in_doubt = false, lease_until = NULL
       WHERE ${stillHeld('c')}
       RETURNING 1
     ), ${endOfEffect(schema, {
       tenant: '$1',
       eventKey: '$7',
       completedAs: '$8',
       outcome: '$9',
       names: '$4',
     })}`,
    [...heldValues(claim), completion.result, eventKey, claim.rows[0]?.effect, completion.outcome],
  );
  const [ended] = rows;
  if (!ended || rows.length < claim.rows.length) return false;
  await endDeadLettered(sql, schema, { tenant: claim.tenant, eventKey }, ended);
  return true;
}

/**
 * Ends an effect for an event whose business identity was completed before, by another event or by a lost answer; or, as
 * stale, for an event whose state is older than the newest of its lineage.
 *
 * @throws {OnefoldError} `abandoned` when the event was abandoned meanwhile.
 */
export async function endEffect(
  sql: Sql,
  schema: SchemaName,
  end: {
    readonly tenant: string;
    /** The name it was done under; of a stale one, the name that the ledger goes by. */
    readonly effect: string;
    readonly names: readonly string[];
    readonly businessKey: string;
    readonly eventKey: string;
    readonly outcome: 'done' | 'already_done' | 'stale';
  },
): Promise<void> {
  const { rows } = await sql<EndedEvent>(
    `WITH completed AS (
       SELECT 1 WHERE $5 = 'stale' OR EXISTS (
         SELECT 1 FROM ${schema}.effects WHERE tenant = $1 AND effect = $2 AND business_key = $3 AND state = 'done')
     ), ${endOfEffect(schema, { tenant: '$1', eventKey: '$4', completedAs: '$2', outcome: '$5', names: '$6' })}`,
    [end.tenant, end.effect, end.businessKey, end.eventKey, end.outcome, end.names],
  );
  const [ended] = rows;
  if (ended) await settleEvent(sql, schema, end, ended);
}

/** The event as the statement left it, nulls where this effect had ended before or the event is not recorded. */
interface EndedEvent {
  readonly remaining: number | null;
  readonly state: string | null;
}

/** The parameters of {@link endOfEffect} by their numbers in the statement around it. */
interface EndParameters {
  readonly tenant: string;
  readonly eventKey: string;
  readonly completedAs: string;
  readonly outcome: string;
  readonly names: string;
}

/**
 * The rest of all these statements. `remaining` is counted down by an UPDATE, which sees the latest row even where the
 * effects of one event commit side by side; each effect counts once, since its outcome is set once.
 */
function endOfEffect(schema: SchemaName, at: EndParameters): string {
  return `ended AS (
       UPDATE ${schema}.event_effects
       SET outcome = ${at.outcome}, completed_as = ${at.completedAs}, ended_at = clock_timestamp()
       WHERE tenant = ${at.tenant} AND event_key = ${at.eventKey} AND effect = ANY(${at.names}) AND outcome IS NULL
         AND EXISTS (SELECT 1 FROM completed)
       RETURNING 1
     ), event AS (
       UPDATE ${schema}.events
       SET remaining = remaining - 1,
           state = CASE WHEN remaining = 1 AND state = 'open' THEN 'done' ELSE state END,
           ended_at = CASE WHEN remaining = 1 THEN clock_timestamp() ELSE ended_at END
       WHERE tenant = ${at.tenant} AND event_key = ${at.eventKey} AND EXISTS (SELECT 1 FROM ended)
       RETURNING remaining, state
     ), closed AS (
       UPDATE ${schema}.dead_letters SET closed_at = clock_timestamp(), closed_by = 'completion'
       WHERE tenant = ${at.tenant} AND event_key = ${at.eventKey} AND closed_at IS NULL
         AND EXISTS (SELECT 1 FROM event WHERE remaining = 0)
     )
     SELECT event.remaining, event.state FROM completed LEFT JOIN event ON true`;
}

/** Judges what became of the event while the effect ran. */
async function settleEvent(
  sql: Sql,
  schema: SchemaName,
  event: { readonly tenant: string; readonly eventKey: string },
  ended: EndedEvent,
): Promise<void> {
  // The statement waited for the abandon's commit. Who abandoned was told that nothing is written any more.
  if (ended.state === 'abandoned') throw abandonedMeanwhile();
  await endDeadLettered(sql, schema, event, ended);
}

/** The error of an attempt whose event a person gave up. */
export function abandonedMeanwhile(): OnefoldError {
  return new OnefoldError(
    'abandoned',
    'a person abandoned this event, so nothing is written for it; only a replay lifts it',
  );
}

/**
 * Ends an event that got its dead letter while its last effect was committing: the statement above waited for the event's
 * row and saw it change, but its snapshot is older than the letter, which so takes a statement of its own.
 */
async function endDeadLettered(
  sql: Sql,
  schema: SchemaName,
  event: { readonly tenant: string; readonly eventKey: string },
  ended: EndedEvent,
): Promise<void> {
  if (ended.remaining !== 0 || ended.state !== 'dead_lettered') return;
  await sql(
    `WITH event AS (
       UPDATE ${schema}.events SET state = 'done' WHERE tenant = $1 AND event_key = $2 RETURNING 1
     )
     UPDATE ${schema}.dead_letters SET closed_at = clock_timestamp(), closed_by = 'completion'
     WHERE tenant = $1 AND event_key = $2 AND closed_at IS NULL AND EXISTS (SELECT 1 FROM event)`,
    [event.tenant, event.eventKey],
  );
}
