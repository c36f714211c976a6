import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { addMissingLimits } from './add-missing-limits.js';
import { beginSendStatement } from './begin-send-statement.js';
import { type BudgetRow, budgetOf, type DeliveryBudget } from './delivery-budget.js';
import { longestTurnMs } from './pace.js';

/** A place in the queue of an endpoint with a rate limit. */
export interface TurnTicket {
  readonly at: Date;
  /** Of the endpoint; a changed one has another queue, in which the ticket is worth nothing. */
  readonly version: number;
}

/** Who asks to make which attempt. */
export interface BeginSend extends DeliveryRef {
  /** A fresh UUID per execution. */
  readonly attemptId: string;
  readonly runId: string;
  /** Counted within its run, from 1. */
  readonly attempt: number;
  /** How much longer than the exchange the lease lasts, ms. */
  readonly leaseMarginMs: number;
  /** Of the exchange, where the endpoint says nothing, ms. */
  readonly defaultTimeoutMs: number;
  /** The act that lets a delivery be sent again after its end. */
  readonly replay?: string;
  /** From an earlier refusal. */
  readonly ticket?: TurnTicket;
}

/** What is told of an endpoint that was found. */
interface Found {
  readonly policy: DeliveryBudget;
}

/** What became of the wish to send. Only `begun` has left a row of the attempt, and holds a slot. */
export type BegunSend =
  | (Found & {
      readonly kind: 'begun';
      readonly url: string;
      /** Extra headers, as sealed JSON, and the name of the key. */
      readonly headers: { readonly sealed: Buffer; readonly key: string } | undefined;
      /** Those that have not expired, the newest first. */
      readonly secrets: readonly { readonly id: string; readonly sealed: Buffer; readonly key: string }[];
      readonly body: string;
      readonly eventId: string;
      readonly type: string;
      readonly atMostOnce: boolean;
      /** Of the endpoint. */
      readonly version: number;
      readonly leaseUntil: Date;
      /** What is left of the lease, by the database's clock, when the statement ended. */
      readonly leftMs: number;
      /** Attempts of this delivery that were found without an end, and are of unknown outcome now. */
      readonly unknownBefore: number;
    })
  /** The endpoint takes each message at most once, and an earlier attempt may have arrived. */
  | (Found & { readonly kind: 'unknown_before' })
  | (Found & { readonly kind: 'held'; readonly state: 'paused' | 'disabled' })
  | (Found & {
      readonly kind: 'limited';
      readonly by: 'rate' | 'concurrency';
      /** Until it is worth asking again. */
      readonly waitMs: number;
      /** To be given with the next wish, so that the delivery keeps its place. */
      readonly ticket?: TurnTicket;
    })
  | { readonly kind: 'delivered' }
  | { readonly kind: 'abandoned'; readonly by: string; readonly reason: string }
  | { readonly kind: 'removed' }
  | { readonly kind: 'missing' };

/**
 * When to ask for a slot again without having been handed one, ms; jitter spreads those who were refused together. It is
 * for what nobody hands over, such as the slot of a process that died.
 */
const slotWaitMs = 2_000;

interface Row extends BudgetRow {
  readonly verdict:
    | 'delivered'
    | 'abandoned'
    | 'removed'
    | 'again'
    | 'under_way'
    | 'unknown_before'
    | 'held'
    | 'free'
    | null;
  readonly abandoned_by: string | null;
  readonly abandoned_reason: string | null;
  readonly state: 'enabled' | 'paused' | 'disabled' | null;
  readonly begun: boolean;
  readonly unready: boolean;
  /** It waits for a slot from now on. */
  readonly queued: boolean;
  readonly url: string;
  readonly headers: string | null;
  readonly headers_key: string | null;
  /** JSON. */
  readonly secrets: string | null;
  readonly body: string;
  readonly event_id: string;
  readonly type: string;
  readonly at_most_once: boolean;
  readonly version: number;
  readonly lease_until: Date | string;
  readonly left_ms: number;
  readonly unknown_before: number;
  readonly wait_ms: number | null;
  readonly place: Date | string | null;
}

/**
 * Asks to send: looks whether the delivery may be sent, takes one of the endpoint's slots and, where it has a rate limit,
 * a turn, and writes the attempt down, all in one statement and so all or nothing. Safe to call in parallel, from any
 * number of processes; the database decides, by its own clock.
 *
 * A delivery has one attempt under way. While that has neither ended nor outlived its lease, another one is refused, as if
 * by the limit of requests at once. One whose lease is over vanished with its process, or is still stuck in it: its outcome
 * is unknown from here on. Asking again with the same `attemptId`, where the answer was lost, is answered `begun` again.
 *
 * Who is refused for want of a slot stands in a queue from then on: whoever frees one hands it over to the oldest, see
 * {@link handOverSlots}.
 */
export async function beginSend(sql: Sql, schema: SchemaName, begin: BeginSend): Promise<BegunSend> {
  let row = await ask(sql, schema, begin);
  if (row?.unready) {
    await addMissingLimits(sql, schema, begin);
    row = await ask(sql, schema, begin);
  } else if (row?.queued) {
    // A slot that was freed at the same moment was handed to nobody, since this wish was not to be seen yet.
    row = await ask(sql, schema, { ...begin, ...ticketOf(row) });
  }
  return readBegun(row, begin);
}

async function ask(sql: Sql, schema: SchemaName, begin: BeginSend): Promise<Row | undefined> {
  const { rows } = await sql<Row>(beginSendStatement(schema), [
    begin.tenant,
    begin.endpoint,
    begin.publication,
    begin.attemptId,
    begin.runId,
    begin.attempt,
    begin.leaseMarginMs,
    begin.defaultTimeoutMs,
    begin.replay ?? null,
    begin.ticket?.at ?? null,
    begin.ticket?.version ?? null,
  ]);
  return rows[0];
}

function readBegun(row: Row | undefined, { ticket }: BeginSend): BegunSend {
  if (!row) return { kind: 'missing' };
  switch (row.verdict) {
    case null:
      return { kind: 'missing' };
    case 'delivered':
    case 'removed':
      return { kind: row.verdict };
    case 'abandoned':
      return { kind: 'abandoned', by: row.abandoned_by ?? '', reason: row.abandoned_reason ?? '' };
    case 'again':
      return begun(row);
    case 'under_way': {
      const waitMs = Math.max(Math.ceil(row.left_ms), 1);
      return { kind: 'limited', by: 'concurrency', waitMs, ...(ticket ? { ticket } : {}), policy: budgetOf(row) };
    }
    case 'unknown_before':
      return { kind: 'unknown_before', policy: budgetOf(row) };
    case 'held':
      return { kind: 'held', state: row.state === 'paused' ? 'paused' : 'disabled', policy: budgetOf(row) };
    case 'free':
      return row.begun ? begun(row) : limited(row);
  }
}

function begun(row: Row): BegunSend {
  const secrets = JSON.parse(row.secrets ?? '[]') as readonly { id: string; sealed: string; key: string }[];
  return {
    kind: 'begun',
    policy: budgetOf(row),
    url: row.url,
    headers:
      row.headers === null || row.headers_key === null
        ? undefined
        : { sealed: Buffer.from(row.headers, 'base64'), key: row.headers_key },
    secrets: secrets.map(({ id, sealed, key }) => ({ id, sealed: Buffer.from(sealed, 'base64'), key })),
    body: row.body,
    eventId: row.event_id,
    type: row.type,
    atMostOnce: row.at_most_once,
    version: row.version,
    leaseUntil: new Date(row.lease_until),
    leftMs: row.left_ms,
    unknownBefore: row.unknown_before,
  };
}

function limited(row: Row): BegunSend {
  const policy = budgetOf(row);
  const ticket = ticketOf(row);
  if (row.wait_ms === null) {
    const waitMs = Math.ceil(slotWaitMs * (1 + Math.random() / 2));
    return { kind: 'limited', by: 'concurrency', waitMs, ...ticket, policy };
  }
  const waitMs = Math.min(Math.max(Math.ceil(row.wait_ms), 1), longestTurnMs);
  return { kind: 'limited', by: 'rate', waitMs, ...ticket, policy };
}

function ticketOf(row: Row): { readonly ticket?: TurnTicket } {
  return row.place === null ? {} : { ticket: { at: new Date(row.place), version: row.version } };
}
