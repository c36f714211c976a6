import { randomUUID } from 'node:crypto';
import express from 'express';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { type AnsweredCase, type AnswerRow, answers } from '../../src/receiver/answers.js';
import { connectClient } from '../../src/runtime/temporal.js';
import type { Source } from '../../src/sources/define-source.js';
import type { Acknowledge } from '../../src/sources/source.js';
import { stripe } from '../../src/sources/stripe.js';
import { types } from '../../src/sources/types.js';
import {
  type Answer,
  createHarness,
  type OpenOptions,
  type OpenReceiver,
  type ReceiverHarness,
  readAnswer,
} from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';

/** A port that nothing listens on. */
const nowhere = '127.0.0.1:1';

let harness: ReceiverHarness;

beforeAll(async () => {
  harness = await createHarness();
  await harness.startWorker();
});

afterAll(() => harness.close());

const minute = 60_000;
const later = (ms: number) => new Date(Date.now() + ms);
const id = () => randomUUID();

/** Brings about each case of the table over HTTP. A case without one does not compile. */
function scenarios(mode: Acknowledge): Record<AnsweredCase, () => Promise<Answer>> {
  const { source, effects } = shop('shop', {
    acknowledge: mode,
    settleWithin: '5 seconds',
    bodyLimitBytes: 300_000,
  });
  const open = (options: Partial<OpenOptions> = {}) => harness.open({ sources: [{ source, effects }], ...options });
  const opened = (options: Partial<Parameters<typeof shop>[1]>) => {
    const made = shop('shop', { acknowledge: mode, ...options });
    return harness.open({ sources: [made] }).then((receiver) => ({ ...receiver, source: made.source }));
  };
  const sendTo = async (
    receiver: OpenReceiver,
    content: object | Uint8Array = {},
    key: string = id(),
    at = new Date(),
  ) => receiver.send('shop', signed(source, key, content, at));
  const sendOnce = async (content: object | Uint8Array = {}, at = new Date()) =>
    sendTo(await open(), content, id(), at);
  const withHeaders = async (change: (headers: Record<string, string>) => void) => {
    const delivery = signed(source, id());
    const headers = { ...delivery.headers };
    change(headers);
    return (await open()).send('shop', { ...delivery, headers });
  };
  const stripeDelivery = async (body: string, change: (headers: Record<string, string>) => void = () => {}) => {
    const made: Source = stripe('shop', {
      secrets: 'whsec_test',
      acknowledge: mode,
      events: { 'order.paid': types<unknown>() },
    }) as Source;
    const receiver = await harness.open({ sources: [{ source: made, effects: [] }] });
    const { headers, body: bytes } = signed(made, '', Buffer.from(body));
    const changed = { ...headers };
    change(changed);
    return receiver.send('shop', { headers: changed, body: bytes });
  };
  /** Leaves an event that failed, was completed, or is running, then sends it once more. */
  const again = async (content: object, settle: (receiver: OpenReceiver, key: string) => Promise<unknown>) => {
    const receiver = await open();
    const key = id();
    const first = receiver.send('shop', signed(source, key, content));
    await settle(receiver, key);
    const answer = await receiver.send('shop', signed(source, key, content));
    if (mode === 'durable') await first;
    return answer;
  };
  const handle = (key: string) => harness.temporal.client.workflow.getHandle(`event//shop/${key}`);
  const closed = async (_receiver: OpenReceiver, key: string) => {
    await until(() => handle(key).result());
  };

  return {
    first_run: () => sendOnce(),
    retry_after_failure: () =>
      again({ data: { do: 'wait' } }, async (_receiver, key) => {
        await until(() => handle(key).terminate('test'));
        // The new run ends at once, so that the settled answer is the outcome.
        void until(() => handle(key).signal('release'), 400);
      }),
    settled_too_late: async () => {
      const receiver = await opened({ settleWithin: 300 });
      return receiver.send('shop', signed(receiver.source, id(), { data: { do: 'wait' } }));
    },
    duplicate_done: () => again({}, closed),
    in_progress_elsewhere: () =>
      again({ data: { do: 'wait' } }, (_receiver, key) => until(() => handle(key).describe())),
    ignored: () => sendOnce({ type: 'order.seen' }),
    effect_failed: () => sendOnce({ data: { do: 'fail' } }),
    identity_missing: () => stripeDelivery('{"type":"order.paid"}'),
    identity_invalid: async () => sendTo(await open(), {}, 'x'.repeat(5_000)),
    type_missing: () => stripeDelivery('{"id":"evt_1"}'),
    body_malformed: () => sendOnce(Buffer.from('{"type":')),
    body_too_deep: () => sendOnce(Buffer.from(`${'['.repeat(300)}${']'.repeat(300)}`)),
    signature_missing: () => withHeaders((headers) => delete headers['webhook-signature']),
    signature_malformed: () => withHeaders((headers) => (headers['webhook-timestamp'] = 'soon')),
    signature_mismatch: () => withHeaders((headers) => (headers['webhook-id'] = 'msg_other')),
    signature_scheme_unsupported: () =>
      stripeDelivery('{}', (headers) => {
        headers['stripe-signature'] = headers['stripe-signature']!.replace('v1=', 'v0=');
      }),
    timestamp_too_old: () => sendOnce({}, later(-10 * minute)),
    timestamp_too_new: () => sendOnce({}, later(10 * minute)),
    unknown_source: async () => (await open()).send('nobody', signed(source, id())),
    method_not_allowed: async () => readAnswer(await fetch(`${(await open()).http.url}/shop`, { method: 'PUT' })),
    body_too_large: () => sendOnce({ data: 'x'.repeat(300_000) }),
    body_unreadable: () => withHeaders((headers) => (headers['content-type'] = 'image/png')),
    body_differs: async () => {
      const receiver = await opened({ refuseOtherBody: true });
      const key = id();
      await receiver.send('shop', signed(receiver.source, key, { data: { order: 1 } }));
      return receiver.send('shop', signed(receiver.source, key, { data: { order: 2 } }));
    },
    rate_limited: async () => {
      const receiver = await opened({ rateLimit: { perSecond: 1, burst: 1 } });
      await receiver.send('shop', signed(receiver.source, id()));
      return receiver.send('shop', signed(receiver.source, id()));
    },
    backlog_full: async () => {
      // The receiver looks every 2 seconds, and its own first events are what waits.
      const made = shop('shop', { acknowledge: mode, settleWithin: 100, backlogLimit: { oldest: 1 } });
      const receiver = await harness.open({ sources: [made], taskQueue: `nobody-${id()}` });
      for (;;) {
        const answer = await receiver.send('shop', signed(made.source, id()));
        if (answer.status !== 202) return answer;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    },
    temporal_unavailable: async () => {
      const temporal = connectClient({ address: nowhere, environment: {} });
      return sendTo(await open({ temporal })).finally(() => temporal.close());
    },
    start_refused: async () => {
      const temporal = connectClient({ address: inject('temporalAddress'), namespace: 'absent', environment: {} });
      return sendTo(await open({ temporal })).finally(() => temporal.close());
    },
    ledger_unavailable: async () => {
      const database = pgDatabase({ connectionString: `postgres://${nowhere}/none` });
      const receiver = await open({ ledger: { ...harness.ledger, database } });
      return sendTo(receiver, { data: 'x'.repeat(200_000) });
    },
    shutting_down: async () => {
      const receiver = await open();
      await receiver.receiver.drain();
      return sendTo(receiver);
    },
    body_already_parsed: async () => sendTo(await open({ before: [express.json()] })),
    internal_error: async () => {
      const receiver = await opened({
        tenant: () => {
          throw new Error('planted words');
        },
      });
      return receiver.send('shop', signed(receiver.source, id()));
    },
  };
}

async function until<Result>(work: () => Promise<Result>, afterMs = 0): Promise<Result | undefined> {
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  for (let tries = 0; tries < 200; tries++) {
    try {
      return await work();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  return undefined;
}

const rows = Object.entries(answers) as [AnsweredCase, AnswerRow][];

describe.each(['durable', 'settled'] as const)('in %s mode', (mode) => {
  test.each(rows.filter(([, row]) => row[mode] !== null))('%s is answered as the table says', async (answered, row) => {
    const expected = row[mode]!;
    const answer = await scenarios(mode)[answered]();
    expect({ status: answer.status, code: answer.json.code }).toEqual({
      status: expected.status,
      code: expected.code,
    });
    const retryAfter = answer.headers.get('retry-after');
    expect(retryAfter).toBe(expected.retryAfterSeconds === undefined ? null : String(expected.retryAfterSeconds));
    if (expected.code === undefined) {
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.json.path).toBe(answered === 'settled_too_late' ? 'first_run' : answered);
      expect(answer.headers.get('onefold-path')).toBe(answer.json.path);
      expect(answer.json.event).toMatch(/^shop\//);
      expect(answer.json.event).toBe(decodeURIComponent(answer.headers.get('onefold-event')!));
    } else {
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(answer.json).toMatchObject({ type: 'about:blank', status: expected.status });
      expect(answer.text).not.toMatch(/planted|whsec_|127\.0\.0\.1|\.ts:|node_modules/);
    }
  });
});
