import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { perEvent } from '../../src/effects/declare-effect.js';
import { connectClient } from '../../src/runtime/temporal.js';
import type { Source } from '../../src/sources/define-source.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { stripe } from '../../src/sources/stripe.js';
import { types } from '../../src/sources/types.js';
import { createHarness, type OpenReceiver, type ReceiverHarness } from './support/receiver-harness.js';
import { secret, signed } from './support/sources.js';
import { startProxy } from './support/switchable-proxy.js';

/** The clock of the cases, T0. */
const start = new Date('2026-02-03T04:05:06Z');

let harness: ReceiverHarness;

beforeAll(async () => {
  harness = await createHarness();
  await harness.startWorker();
});

afterAll(() => harness.close());

const confirmed = types<unknown>();

/** A source of the cases with one effect; the name carries account and mode, which belong to the identity. */
function standard(name: string) {
  const source = standardWebhooks(name, { secrets: secret, events: { 'order.confirmed': confirmed } });
  return withEffect(source as Source);
}

function tv1(name: string, bodyLimitBytes?: number) {
  const events = { 'order.confirmed': confirmed, 'report.ready': confirmed };
  const limit = bodyLimitBytes === undefined ? {} : { bodyLimitBytes };
  return withEffect(stripe(name, { secrets: 'whsec_fake_tv1_secret', events, ...limit }) as Source);
}

function withEffect(source: Source) {
  const effect = source.effect(`work-${source.name}`, {
    on: Object.keys(source.events) as never,
    businessKey: perEvent,
    commit: async () => null,
  });
  return { source, effects: [effect] };
}

const fresh = (name: string) => `${name}-${randomUUID().slice(0, 8)}`;

async function startedRuns(source: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 400));
  return (await harness.temporal.client.workflow.count(`OnefoldSource = '${source}'`)).count;
}

describe('case two-identical-deliveries-at-once', () => {
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'msg_race_1',
    'webhook-timestamp': '1770091506',
    'webhook-signature': 'v1,6qujCebYODIYinDxa9fqZgz69hrjDt86BtdY5oSJO8g=',
  };
  const body = Buffer.from(
    '{"id":"evt_race_1","type":"order.confirmed","created":1770091506,"data":{"order":"ord_8"}}',
  );

  test('of 20 copies over two receivers one starts the workflow, and every copy is told so with a 2xx', async () => {
    const std = standard(fresh('std'));
    const receivers = await Promise.all([
      harness.open({ sources: [std], now: () => start }),
      harness.open({ sources: [std], now: () => start }),
    ]);
    const send = (index: number) => (receivers[index % 2] as OpenReceiver).send(std.source.name, { headers, body });
    const begun = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => send(index)));
    expect(performance.now() - begun).toBeLessThan(3_000);
    expect(answers.every(({ status }) => status === 200 || status === 202)).toBe(true);
    const paths = answers.map(({ json }) => json.path);
    expect(paths.filter((path) => path === 'first_run')).toHaveLength(1);
    const duplicates = paths.filter((path) => path === 'in_progress_elsewhere' || path === 'duplicate_done');
    expect(duplicates).toHaveLength(19);
    await harness.temporal.client.workflow.getHandle(`event//${std.source.name}/msg_race_1`).result();
    expect((await send(0)).json.path).toBe('duplicate_done');
    expect(await startedRuns(std.source.name)).toBe(1);
  });
});

describe('case acknowledged-before-durable', () => {
  const first = {
    headers: {
      'content-type': 'application/json',
      'webhook-id': 'msg_down_1',
      'webhook-timestamp': '1770091506',
      'webhook-signature': 'v1,/Bzy187Sw1YunZU4im0yY+OEAFFqh1XeJUr5YVWonIQ=',
    },
    body: Buffer.from('{"id":"evt_down_1","type":"order.confirmed","created":1770091506,"data":{"order":"ord_15"}}'),
  };
  const redelivery = {
    headers: {
      ...first.headers,
      'webhook-timestamp': '1770091566',
      'webhook-signature': 'v1,u8tbH2E65gntdn6ORMqn5OAhZm7AdMW2lCvEiKNfQmw=',
    },
    body: first.body,
  };

  test.each(['refuse', 'silent'] as const)(
    'with Temporal away (%s) the delivery is 503 in time, and its redelivery is the first run',
    async (state) => {
      const std = standard(fresh('std'));
      const proxy = await startProxy(inject('temporalAddress'));
      const temporal = connectClient({ address: proxy.address, environment: {} });
      let now = start;
      const { send } = await harness.open({ sources: [std], now: () => now, temporal });
      await proxy.become(state);
      const begun = performance.now();
      expect((await send(std.source.name, first)).status).toBe(503);
      expect(performance.now() - begun).toBeLessThan(2_000);
      await proxy.become('up');
      now = new Date(start.getTime() + 60_000);
      await expect
        .poll(async () => (await send(std.source.name, redelivery)).json.path, { timeout: 20_000 })
        .toBe('first_run');
      await temporal.close();
      await proxy.close();
    },
  );
});

describe('case body-over-the-temporal-payload-limit', () => {
  const requests = [
    ['300 KiB', 'evt_big_0', 307_200, 'be9cfb80a428160fb07ded3dfdea29fe69907c6f5567db205f41b45fbc17e19d'],
    ['2.5 MiB', 'evt_big_1', 2_621_440, 'd462f4b7b220a2ce31e9e5cf81e58dbfaa548d635f49b190c18aa2ae6e2091e3'],
    ['5 MiB', 'evt_big_2', 5_242_880, 'f61d6204a50e71180263ddcd5ff55943c365815b5330ffd0106ff7df0511c40b'],
  ] as const;

  /** A request of the case, as it was signed. */
  const delivery = (id: string, size: number, signature: string) => ({
    headers: { 'content-type': 'application/json', 'stripe-signature': `t=1770091506,v1=${signature}` },
    body: Buffer.from(
      `{"id":"${id}","type":"report.ready","created":1770091506,"data":{"blob":"${'x'.repeat(size)}"}}`,
    ),
  });

  test.each(requests)(
    '%s is taken whole where the limit allows it, and its workflow ends',
    async (_, id, size, mac) => {
      const big = tv1(fresh('big'), 8 * 1024 * 1024);
      const { send } = await harness.open({ sources: [big], now: () => start });
      const begun = performance.now();
      const answer = await send(big.source.name, delivery(id, size, mac));
      expect(answer.status).toBe(202);
      expect(performance.now() - begun).toBeLessThan(5_000);
      await harness.temporal.client.workflow.getHandle(`event//${big.source.name}/${id}`).result();
    },
  );

  test.each(requests.slice(1))(
    '%s is 413 under the default limit, which the answer names',
    async (_, id, size, mac) => {
      const big = tv1(fresh('big'));
      const { send } = await harness.open({ sources: [big], now: () => start });
      const answer = await send(big.source.name, delivery(id, size, mac));
      expect(answer.status).toBe(413);
      expect(answer.json.detail).toContain('1048576 bytes');
    },
  );
});

describe('case event-id-reused-across-accounts', () => {
  const body = Buffer.from('{"id":"evt_0001","type":"order.confirmed","created":1770091506,"data":{"order":"ord_7"}}');
  const tv1Headers = (t: string, mac: string) => ({
    'content-type': 'application/json',
    'stripe-signature': `t=${t},v1=${mac}`,
  });
  const live = tv1Headers('1770091506', '51f2b9f6f9bf702c9a37b37379391b788a8840220563345a8e3a132146bd3b91');
  const again = tv1Headers('1770091566', '8310c23ec093b8fd5cf8e9eb8481d3ecd58c3db35fc2d90d3ad1a9b6465a2f40');
  const other = {
    'content-type': 'application/json',
    'webhook-id': 'evt_0001',
    'webhook-timestamp': '1770091506',
    'webhook-signature': 'v1,ZZ+OpWbrxNl/Rw8XUQ0Tz1P4hefoke07vG/a89NLT30=',
  };

  test('one id under four accounts and modes is four events, and a redelivery is still a duplicate', async () => {
    const [a, b, aTest] = [tv1(fresh('acct-a')), tv1(fresh('acct-b')), tv1(fresh('acct-a-test'))];
    const std = standard(fresh('other'));
    const { send } = await harness.open({ sources: [a, b, aTest, std], now: () => start });
    const paths = [
      (await send(a.source.name, { headers: live, body })).json.path,
      (await send(b.source.name, { headers: live, body })).json.path,
      (await send(aTest.source.name, { headers: live, body })).json.path,
      (await send(std.source.name, { headers: other, body })).json.path,
    ];
    expect(paths).toEqual(['first_run', 'first_run', 'first_run', 'first_run']);
    const fifth = (await send(a.source.name, { headers: again, body })).json.path;
    expect(['duplicate_done', 'in_progress_elsewhere']).toContain(fifth);
  });

  test('one id under two tenants of one source is two events', async () => {
    const source = stripe(fresh('connect'), {
      secrets: 'whsec_fake_tv1_secret',
      events: { 'order.confirmed': confirmed },
      tenant: ({ identified }) => identified.scope ?? '',
    }) as Source;
    const { send } = await harness.open({ sources: [withEffect(source)] });
    const event = (account: string) =>
      signed(source, 'evt_1', Buffer.from(`{"id":"evt_1","type":"order.confirmed","account":"${account}"}`));
    expect((await send(source.name, event('acct_a'))).json.path).toBe('first_run');
    const second = await send(source.name, event('acct_b'));
    expect(second.json.path).toBe('first_run');
    const handle = harness.temporal.client.workflow.getHandle(`event/acct_b/${source.name}/evt_1`);
    expect((await handle.describe()).status.name).toBeDefined();
  });
});
