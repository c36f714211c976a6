import type { Client } from '@temporalio/client';
import { cutText } from '../../identity/cut-text.js';
import type { RunStep, TracedRun } from './read-run.js';

type HistoryResponse = Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>;
/** An event of a history as Temporal's API has it. */
export type HistoryEvent = NonNullable<NonNullable<HistoryResponse['history']>['events']>[number];
/** What travels in a history, encoded. */
export type Payload = NonNullable<NonNullable<HistoryEvent['userMetadata']>['summary']>;
export type Failure = NonNullable<HistoryEvent['activityTaskFailedEventAttributes']>['failure'];

/** Reads one payload, however it was encoded. */
export type Decode = (payload: Payload | null | undefined) => Promise<unknown>;

/** A run in the making: what was begun and has not ended, the steps so far, and what is known of the whole. */
export interface Reading {
  readonly decode: Decode;
  readonly activities: Map<string, { readonly name: string; readonly summary: string; readonly at: Date }>;
  readonly timers: Map<string, { readonly summary: string; readonly at: Date; readonly ms: number }>;
  readonly updates: Map<string, string>;
  steps: RunStep[];
  run: { -readonly [Field in keyof TracedRun]?: TracedRun[Field] };
}

/** Messages of failures and reasons of people are cut to this on a line. */
const textLimit = 400;

/** The code and message of a failure, on one line. */
export async function failureOf(reading: Reading, failure: Failure): Promise<{ code: string; message: string }> {
  // An activity's or a child's failure is wrapped; the innermost one that says more is meant.
  const inner = failure?.cause && !failure.applicationFailureInfo ? failure.cause : failure;
  const timeout = inner?.timeoutFailureInfo;
  if (timeout) {
    // TIMEOUT_TYPE_HEARTBEAT
    const beat = timeout.timeoutType === 4;
    return {
      code: 'attempt_timed_out',
      message: beat ? 'its worker died or froze' : 'the server saw no end of it in time',
    };
  }
  const encoded = (await reading.decode(inner?.encodedAttributes)) as { message?: unknown } | undefined;
  const message = typeof encoded?.message === 'string' ? encoded.message : (inner?.message ?? '');
  return { code: inner?.applicationFailureInfo?.type || 'effect_threw', message: short(message) };
}

/** What the Web UI shows of an activity or a timer; '' where it has none. */
export async function summaryOf(reading: Reading, { userMetadata }: HistoryEvent): Promise<string> {
  const summary = await reading.decode(userMetadata?.summary);
  return typeof summary === 'string' ? summary : '';
}

/** The workflow labels its attempts `attempt 2 of 15 · ship-order · shipment:42`. */
export function namedBy(summary: string): { readonly effect?: string; readonly attempt?: number } {
  const [, attempt, effect] = /^attempt (\d+) of \d+ · (.+?) · /.exec(summary) ?? [];
  return effect === undefined ? {} : { effect, attempt: Number(attempt) };
}

/** When an event of a history was recorded. */
export function momentOf({ eventTime }: HistoryEvent): Date {
  return new Date(Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6);
}

/** A text on one line, cut. */
export function short(text: string): string {
  return cutText(text.replace(/\s+/g, ' ').trim(), textLimit);
}
