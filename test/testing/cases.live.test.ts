import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { httpFailure } from '../../src/effects/http-failure.js';
import { forwardsKey } from '../../src/effects/recovery.js';
import { operationsContext } from '../../src/operations/context.js';
import { createReceiver } from '../../src/receiver/create-receiver.js';
import { connectClient } from '../../src/runtime/temporal.js';
import { custom } from '../../src/sources/custom.js';
import { signedHeaders } from '../../src/sources/signed-headers.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { type Recipient, startRecipient, startTestKit, type TestKit } from '../../src/testing/index.js';
import stillRunning from '../cases/attempt-still-running-after-its-timeout.json' with { type: 'json' };
import crashed from '../cases/recorded-then-crashed.json' with { type: 'json' };
import sameHappening from '../cases/same-happening-new-event-id.json' with { type: 'json' };
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

const { slack: slackGiven } = sameHappening.given.providers;
const { std } = crashed.given.providers;
const timeout = stillRunning.given.effect.timeoutSeconds * 1000;
const { maximumAttempts } = stillRunning.given.effect;

/** How long the first attempt overruns, by the case. */
const overrunMs = 5000;

interface Message {
  readonly team_id: string;
  readonly event: { readonly type: string; readonly channel: string; readonly ts: string };
}
interface Order {
  readonly order: string;
  readonly note?: string;
}

const slack = custom('slack', {
  verify: {
    hmac: 'sha256',
    header: 'x-slack-signature',
    encoding: 'hex',
    prefix: 'v0=',
    timestampHeader: 'x-slack-request-timestamp',
    signedContent: 'v0:{timestamp}:{body}',
    secrets: slackGiven.secrets,
  },
  identity: { field: 'event_id' },
  type: { field: 'event.type' },
  events: { message: types<Message>() },
});
const shop = standardWebhooks('shop', {
  secrets: std.secrets,
  events: { 'order.confirmed': types<Order>(), 'order.stuck': types<Order>(), 'order.sent': types<Order>() },
});

let database: TestDatabase;
let kit: TestKit;
let partner: Recipient;
/** The first attempts that overran: each resolves, once it has ended, with whether it had been told to stop. */
const overruns: Promise<boolean>[] = [];

const rowOf = (table: string) => async (key: string) =>
  (await kit.db.query(`SELECT 1 FROM ${table} WHERE key = $1`, [key])).rowCount;
const shipped = rowOf('shipments');

const answerMessage = slack.effect('answer-message', {
  on: 'message',
  businessKey: ({ data }) => `${data.team_id}/${data.event.channel}/${data.event.ts}`,
  commit: async ({ tx, businessKey }) => {
    await tx.query('INSERT INTO shipments (key) VALUES ($1)', [businessKey]);
  },
});
const ship = shop.effect('ship', {
  on: 'order.confirmed',
  businessKey: ({ data }) => data.order,
  commit: async ({ tx, businessKey }) => {
    await tx.query('INSERT INTO shipments (key) VALUES ($1)', [businessKey]);
  },
});
/** Waits longer than its time in its first attempt, before or after the write, and then goes on. */
const stuck = (name: string, place: 'before' | 'after') =>
  shop.effect(name, {
    on: 'order.stuck',
    businessKey: ({ data }) => `${name}/${data.order}`,
    timeout,
    retry: { maximumAttempts },
    commit: async ({ tx, businessKey, attempt, signal }) => {
      const write = () => tx.query('INSERT INTO shipments (key) VALUES ($1)', [businessKey]);
      if (place === 'after') await write();
      if (attempt === 1) {
        const overrun = sleep(overrunMs).then(() => signal.aborted);
        overruns.push(overrun);
        await overrun;
      }
      if (place === 'before') await write();
      return { attempt };
    },
  });
const effectsOfStuck = [stuck('stuck-before-write', 'before'), stuck('stuck-after-write', 'after')] as const;
const send = shop.externalEffect('send', {
  on: 'order.sent',
  businessKey: ({ data }) => data.order,
  timeout,
  retry: { maximumAttempts },
  recovery: forwardsKey({ validFor: '1 day' }),
  perform: async ({ event, idempotencyKey, attempt, signal }) => {
    const call = async () => {
      // Without the signal: code that does not listen is what the case is about.
      const response = await fetch(`${partner.url}/labels`, {
        method: 'POST',
        headers: { 'idempotency-key': idempotencyKey },
        body: JSON.stringify(event.data),
      });
      if (!response.ok) throw httpFailure(response);
      return { label: ((await response.json()) as { id: string }).id, attempt };
    };
    if (attempt > 1) return call();
    const overrun = sleep(overrunMs).then(async () => {
      await call();
      return signal.aborted;
    });
    overruns.push(overrun);
    await overrun;
    return call();
  },
});

beforeAll(async () => {
  database = await createTestDatabase();
  partner = await startRecipient();
  kit = await startTestKit({
    sources: [slack, shop],
    effects: [answerMessage, ship, ...effectsOfStuck, send],
    url: database.url,
    setup: 'CREATE TABLE shipments (key text NOT NULL)',
    timeSkippingServer: inject('timeSkippingServer'),
  });
});
afterAll(async () => {
  await kit?.stop();
  await partner?.stop();
  await database?.drop();
});

async function deadLetters(): Promise<number> {
  return (await kit.db.query('SELECT 1 FROM onefold.dead_letters')).rowCount;
}

describe('case same-happening-new-event-id', () => {
  const { requests, now } = sameHappening.given;

  test('the requests of the case verify as they stand', () => {
    for (const { headers, body, method } of requests) {
      const request = { method, url: '/slack', headers: Object.fromEntries(headers), rawBody: Buffer.from(body.text) };
      expect(slack.verify(request, { now: new Date(now) })).toMatchObject({ ok: true });
    }
  });

  test('two at once and a third one later are one effect, and say whose it is', async () => {
    const events = requests.map(({ body }) => kit.event(slack, { type: 'message', data: JSON.parse(body.text) }));
    const [first, second, third] = events as [(typeof events)[0], (typeof events)[0], (typeof events)[0]];
    const answers = await Promise.all([first.deliver(), second.deliver()]);
    const outcomes = await Promise.all([first.outcome(), second.outcome()]);
    answers.push(await third.deliver());
    outcomes.push(await third.outcome());
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['already_done', 'already_done', 'done']);
    const did = events[outcomes.findIndex(({ outcome }) => outcome === 'done')]?.event;
    for (const { outcome, effects } of outcomes) {
      if (outcome === 'already_done') expect(effects).toMatchObject([{ outcome: 'already_done', doneBy: did }]);
    }
    const key = 'T_FAKE/C_FAKE/1770091506.000100';
    await kit.expectOnce(answerMessage, key, () => shipped(key));
    expect(await deadLetters()).toBe(0);
  });
});

describe('case recorded-then-crashed', () => {
  test('a body that was stored before its receiver died is no mark of having been seen', async () => {
    const data = { order: 'ord_9', note: 'x'.repeat(200_000) };
    const event = kit.event(shop, { type: 'order.confirmed', id: 'msg_crash_1', data });
    const { ledger, namespace, taskQueue, log, metrics } = kit.onefold[operationsContext];
    const unreachable = connectClient({ address: '127.0.0.1:1', environment: {} });
    const dying = createReceiver({
      sources: [shop],
      effects: [ship],
      client: unreachable.client,
      namespace,
      taskQueue,
      ledger,
      log,
      metrics,
    });
    const body = Buffer.from(JSON.stringify({ type: 'order.confirmed', data }));
    const headers = signedHeaders(shop, { body, id: event.id, type: 'order.confirmed', now: new Date() });
    const request = new Request('http://receiver.test/shop', { method: 'POST', headers, body });
    expect((await dying.fetch(request)).status).toBe(503);
    await dying.close();
    await unreachable.close();
    expect(
      (await kit.db.query('SELECT 1 FROM onefold.payloads WHERE event_key = $1', ['event//shop/msg_crash_1'])).rowCount,
    ).toBe(1);

    expect(await event.deliver()).toMatchObject({ status: 202, path: 'first_run' });
    expect(await event.outcome()).toMatchObject({ outcome: 'done' });
    await kit.expectOnce(ship, 'ord_9', () => shipped('ord_9'));
    expect(await deadLetters()).toBe(0);
  });

  test('killed-after-start: an answer that nobody heard is given again', async () => {
    const event = kit.event(shop, { type: 'order.confirmed', data: { order: 'ord_9b' } });
    await event.deliver();
    const { status, path } = await event.deliver();
    expect([200, 202]).toContain(status);
    expect(['in_progress_elsewhere', 'duplicate_done']).toContain(path);
    expect(await event.outcome()).toMatchObject({ outcome: 'done' });
    await kit.expectOnce(ship, 'ord_9b', () => shipped('ord_9b'));
  });

  test('a worker that dies with the event recorded and nothing done is made good without a redelivery', async () => {
    kit.crash(ship, { at: 'before_call', businessKey: 'ord_9c' });
    const event = kit.event(shop, { type: 'order.confirmed', data: { order: 'ord_9c' } });
    await event.deliver();
    expect(await event.outcome()).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
    await kit.expectOnce(ship, 'ord_9c', () => shipped('ord_9c'));
  });
});

describe('case attempt-still-running-after-its-timeout', () => {
  const overrunsEnd = async () => {
    const told = await Promise.all(overruns.splice(0));
    // What comes after the wait has had its time too.
    await sleep(200);
    return told;
  };

  test('a write that comes late, and one that waits in its transaction, are not committed', async () => {
    const event = kit.event(shop, { type: 'order.stuck', data: { order: 'ord_10' } });
    expect(await event.deliver()).toMatchObject({ status: 202 });
    const ended = await event.outcome();
    expect(ended).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }, { attempts: 2 }] });
    expect(await overrunsEnd()).toEqual([true, true]);
    expect(await event.outcome()).toEqual(ended);
    for (const effect of effectsOfStuck) {
      const key = `${effect.name}/ord_10`;
      await kit.expectOnce(effect, key, () => shipped(key));
    }
  });

  test('waits-before-an-external-call: the late call has the key of the one that took over', async () => {
    const event = kit.event(shop, { type: 'order.sent', data: { order: 'ord_10' } });
    await event.deliver();
    const ended = await event.outcome();
    expect(ended).toMatchObject({ outcome: 'done', effects: [{ result: { attempt: 2 } }] });
    expect(await overrunsEnd()).toEqual([true]);
    expect(await event.outcome()).toEqual(ended);
    expect(partner.calls.length).toBeGreaterThan(1);
    expect(new Set(partner.calls.map(({ key }) => key)).size).toBe(1);
    await kit.expectOnce(send, 'ord_10', () => partner.effects.length);
    expect(await deadLetters()).toBe(0);
  });
});
