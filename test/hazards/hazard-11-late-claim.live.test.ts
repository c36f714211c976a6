import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forwardsKey } from '../../src/effects/recovery.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { type Partner, startPartner } from '../faults/support/partner.js';
import { startSteppingWorker } from '../faults/support/stepping-worker.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { chargeKey, chargingShop, configure } from './support/charging-shop.js';
import { createGate } from './support/gate.js';
import { haltedWord } from './support/halt-here.js';
import { nudged } from './support/nudged.js';
import { orderPaid, shop } from './support/shop.js';
import { spawnConfiguredWorker } from './support/spawn-configured-worker.js';
import { killWorkers } from './support/spawn-worker.js';
import { temporalCli } from './support/temporal-cli.js';
import { until } from './support/until.js';

/** It dedupes on nothing, so that every call too many is an effect too many. */
let partner: Partner;
let harness: Harness;
beforeAll(async () => {
  partner = await startPartner({ remembers: false });
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(async () => {
  await killWorkers();
  await harness?.close();
  await partner?.close();
});

const limits = { statementTimeoutMs: 5000, lockTimeoutMs: 1000, idleTimeoutMs: 5000 };

test('an attempt whose time runs out in the queue for a connection begins nothing', async () => {
  const database = pgDatabase({ connectionString: harness.databaseUrl, max: 1 });
  const gate = createGate();
  const holder = database.transaction(() => gate.pass(), limits);
  await gate.reached;
  const late = new AbortController();
  let began = false;
  const attempt = database.transaction(
    async () => {
      began = true;
    },
    { ...limits, signal: late.signal },
  );
  const refused = expect(attempt).rejects.toThrow('its time is over');
  await sleep(50);
  late.abort(new Error('its time is over'));
  await sleep(50);
  gate.open();
  await holder;
  await refused;
  expect(began).toBe(false);
  expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await database.close();
});

test('an attempt that was told to stop cannot commit, even where its work never listens', async () => {
  const stop = new AbortController();
  const gate = createGate();
  await harness.sql('CREATE TABLE late (id integer)');
  const attempt = harness.ledger.database.transaction(
    async (tx) => {
      await tx.query('INSERT INTO late VALUES (1)');
      await gate.pass();
      await tx.query('INSERT INTO late VALUES (2)');
    },
    { ...limits, signal: stop.signal },
  );
  const refused = expect(attempt).rejects.toThrow('told to stop');
  await gate.reached;
  stop.abort(new Error('told to stop'));
  await refused;
  gate.open();
  await sleep(100);
  expect(await harness.sql('SELECT * FROM late')).toEqual([]);
});

test('an attempt that was frozen before its claim, until its time was over, claims nothing', async () => {
  const settings = { module: chargingShop, given: { partner: partner.url } };
  const frozen = await spawnConfiguredWorker(harness, { ...settings, halt: { at: 'before_claim', by: 'SIGSTOP' } });
  const event = orderPaid({}, { effects: ['charge-once'] });
  const handle = await harness.start(event);
  await frozen.says(haltedWord);
  await sleep(2100);
  frozen.kill('SIGCONT');
  await expect(handle.result()).rejects.toThrow();
  const [letter] = await harness.sql('SELECT effects FROM onefold.dead_letters WHERE event_id = $1', [event.id]);
  // Its own word, and not that of a server which has given it up.
  expect(JSON.parse(letter?.effects)).toMatchObject([
    { reasons: [{ code: 'attempt_timed_out', message: expect.stringContaining('2000 ms') }] },
  ]);
  expect(await harness.sql('SELECT 1 FROM onefold.effects')).toEqual([]);
  expect(partner.calls(chargeKey(event.id))).toBe(0);
});

test('an attempt that was frozen before its call, and whose claim was taken, does not call', async () => {
  const configuration = configure({ partner: partner.url });
  const charging = await createHarness(configuration, { worker: false });
  try {
    const frozen = await spawnConfiguredWorker(charging, {
      module: chargingShop,
      given: { partner: partner.url },
      halt: { at: 'before_call', by: 'SIGSTOP' },
    });
    const event = orderPaid({}, { effects: ['charge'] });
    const handle = await charging.start(event);
    await frozen.frozen();
    await charging.worker();
    expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ fence: 2 }] });
    frozen.kill('SIGCONT');
    const superseded = await until('the word of the attempt that was frozen', async () => {
      const rows = await charging.sql('SELECT ended, fence::int FROM onefold.superseded_attempts');
      return (rows.length > 0 || partner.calls(chargeKey(event.id)) > 1) && rows;
    });
    expect(superseded).toEqual([{ ended: 'not_done', fence: 1 }]);
    expect(partner.calls(chargeKey(event.id))).toBe(1);
    expect(partner.taken(chargeKey(event.id))).toHaveLength(1);
  } finally {
    await charging.close();
  }
});

test('an attempt that stood still before its call for as long as its lease asks whether it still holds the claim', async () => {
  let calls = 0;
  const charge = shop.externalEffect('charge', {
    on: 'order.paid',
    businessKey: ({ data }) => chargeKey(data.order),
    heartbeat: '200ms',
    retry: { initialInterval: 50, maximumInterval: 100 },
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: async () => {
      calls += 1;
    },
  });
  const configuration = { sources: [shop], effects: [charge] };
  const charging = await createHarness(configuration, { worker: false });
  let stoodStill = false;
  const stop = await startSteppingWorker(charging, configuration, {
    onStep: async (step, { businessKey }) => {
      if (step !== 'before_call' || stoodStill) return;
      stoodStill = true;
      // Its lease is of 600 ms. Then another attempt takes the claim, which here dies with it.
      await sleep(650);
      await charging.sql(
        `UPDATE onefold.effects SET fence = fence + 1, owner = gen_random_uuid(), in_doubt = true,
                lease_until = clock_timestamp() + interval '200 milliseconds' WHERE business_key = $1`,
        [businessKey],
      );
    },
  });
  try {
    const handle = await charging.start(orderPaid({}, { effects: ['charge'] }));
    expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ fence: 3 }] });
    expect(calls).toBe(1);
    expect(await charging.sql('SELECT ended FROM onefold.superseded_attempts')).toEqual([{ ended: 'not_done' }]);
  } finally {
    await stop();
    await charging.close();
  }
});

test('each execution claims as an owner of its own with the next fence, also where a reset repeats the numbers of attempts', async () => {
  interface Claim {
    readonly attempt: number;
    readonly owner: string;
    readonly fence: number;
  }
  const claims: Claim[] = [];
  const charge = shop.externalEffect('charge', {
    on: 'order.paid',
    businessKey: ({ data }) => chargeKey(data.order),
    retry: { initialInterval: '1 hour' },
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: async ({ attempt, businessKey }) => {
      const [row] = await resetting.sql<{ owner: string; fence: number }>(
        'SELECT owner, fence::int FROM onefold.effects WHERE business_key = $1',
        [businessKey],
      );
      claims.push({ attempt, ...(row as { owner: string; fence: number }) });
      if (claims.length < 3) throw new Error('reset by peer');
    },
  });
  const resetting = await createHarness({ sources: [shop], effects: [charge] });
  try {
    const event = orderPaid({}, { effects: ['charge'] });
    const handle = await resetting.start(event);
    await until('the first attempt', () => claims.length === 1);
    await nudged([handle], () => until('the second attempt', () => claims.length === 2));
    const reset = await temporalCli([
      ...['workflow', 'reset', '-w', handle.workflowId, '--type', 'FirstWorkflowTask'],
      ...['--reason', 'a person did so', '--reapply-exclude', 'All'],
    ]);
    expect(reset).toMatchObject({ ok: true });
    const again = resetting.client.workflow.getHandle(handle.workflowId);
    expect(await resultOf(again)).toMatchObject({ outcome: 'done', effects: [{ attempts: 1, fence: 3 }] });
    expect(claims.map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
    expect(claims.map(({ fence }) => fence)).toEqual([1, 2, 3]);
    expect(new Set(claims.map(({ owner }) => owner)).size).toBe(3);
  } finally {
    await resetting.close();
  }
});
