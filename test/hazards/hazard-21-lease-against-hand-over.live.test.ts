import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PerformContext } from '../../src/effects/effect.js';
import { forwardsKey } from '../../src/effects/recovery.js';
import type { Database } from '../../src/ledger/database.js';
import type { PgTransaction } from '../../src/ledger/pg-database.js';
import { type Partner, startPartner } from '../faults/support/partner.js';
import { startSteppingWorker } from '../faults/support/stepping-worker.js';
import { type Configuration, createHarness, type Harness, resultOf } from '../setup/harness.js';
import { chargeKey, chargingShop, configure } from './support/charging-shop.js';
import { postEffect } from './support/post-effect.js';
import { orderPaid, shop } from './support/shop.js';
import { spawnConfiguredWorker } from './support/spawn-configured-worker.js';
import { killWorkers } from './support/spawn-worker.js';
import { until } from './support/until.js';

/** Of an hour, or of a lease of 70 s: what a busy machine needs to notice, to wait its second, and to act. */
const handedOverWithinMs = 20_000;

/** The harness's grace, and then what the worker gives code that does not end: by then its process is gone. */
const stoppedWithinMs = 1000 + 15_000;

/** It dedupes on the keys that it remembers. */
let partner: Partner;
beforeAll(async () => {
  partner = await startPartner({ remembers: true });
});
afterAll(async () => {
  await killWorkers();
  await partner?.close();
});

async function withHarness(configuration: Configuration, work: (harness: Harness) => Promise<void>): Promise<void> {
  const harness = await createHarness(configuration, { worker: false });
  try {
    await work(harness);
  } finally {
    await harness.close();
  }
}

/** Charges within a minute, without heartbeats: its lease is 70 s. */
function chargeBy(perform: (call: PerformContext<unknown>) => Promise<{ id: string }>): Configuration {
  const charge = shop.externalEffect('charge', {
    on: 'order.paid',
    businessKey: ({ data }) => chargeKey(data.order),
    timeout: '1 minute',
    recovery: forwardsKey({ validFor: '1 day' }),
    perform,
  });
  return { sources: [shop], effects: [charge] };
}

/** The row of the charge, and how much of its lease is left. */
async function rowOf(harness: Harness, businessKey: string): Promise<{ state: string; left_ms: number }> {
  const [row] = await harness.sql<{ state: string; left_ms: number }>(
    `SELECT state, (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::int AS left_ms
     FROM onefold.effects WHERE business_key = $1`,
    [businessKey],
  );
  if (!row) throw new Error('the charge was never claimed');
  return row;
}

test.concurrent('a worker that dies in a call of an hour is noticed by its heartbeat, and another one acts within seconds', () =>
  withHarness(configure({ partner: partner.url }), async (harness) => {
    const doomed = await spawnConfiguredWorker(harness, { module: chargingShop, given: { partner: partner.url } });
    const event = orderPaid({}, { effects: ['charge'] });
    const businessKey = chargeKey(event.id);
    partner.tell(businessKey, { kind: 'hang', acts: true });
    const handle = await harness.start(event);
    await until('the call', () => partner.calls(businessKey) === 1);
    await harness.worker();
    const began = Date.now();
    doomed.kill('SIGKILL');
    await until('the next call', () => partner.calls(businessKey) === 2, handedOverWithinMs);
    expect(Date.now() - began).toBeLessThan(handedOverWithinMs);
    expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 2, fence: 2 }] });
    expect(partner.taken(businessKey)).toHaveLength(1);
  }));

test.concurrent('a worker that is stopped ends the lease of a call that listens, and the next one does not wait for it', () =>
  withHarness(
    chargeBy((call) => postEffect(partner.url, call)),
    async (harness) => {
      const stopping = await harness.worker();
      const event = orderPaid({}, { effects: ['charge'] });
      const businessKey = chargeKey(event.id);
      partner.tell(businessKey, { kind: 'hang', acts: true });
      const handle = await harness.start(event);
      await until('the call', () => partner.calls(businessKey) === 1);
      expect((await rowOf(harness, businessKey)).left_ms).toBeGreaterThan(60_000);
      await stopping.stop();
      const row = await rowOf(harness, businessKey);
      expect(row.state).toBe('unknown');
      expect(row.left_ms).toBeLessThanOrEqual(0);
      await harness.worker();
      await until('the next call', () => partner.calls(businessKey) === 2, handedOverWithinMs);
      // The shutdown has spent no attempt.
      expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 1, fence: 2 }] });
      expect(partner.taken(businessKey)).toHaveLength(1);
    },
  ));

test.concurrent('a worker that is stopped shortens the lease of a call that does not listen to what its process may yet live', () =>
  withHarness(
    chargeBy(({ signal: _unheard, ...call }) =>
      postEffect(partner.url, { ...call, signal: new AbortController().signal }),
    ),
    async (harness) => {
      const stopping = await harness.worker();
      const event = orderPaid({}, { effects: ['charge'] });
      const businessKey = chargeKey(event.id);
      partner.tell(businessKey, { kind: 'hang', acts: true });
      const handle = await harness.start(event);
      await until('the call', () => partner.calls(businessKey) === 1);
      const began = Date.now();
      await stopping.stop();
      const { state, left_ms } = await rowOf(harness, businessKey);
      expect(state).toBe('unknown');
      expect(left_ms).toBeLessThanOrEqual(20_000);
      expect(Date.now() - began + left_ms).toBeGreaterThan(stoppedWithinMs);
      await handle.terminate();
    },
  ));

/** Charges within an hour, and tells of the signal of its first attempt, which does nothing but wait for it. */
function heartbeating(heartbeat: string): { configuration: Configuration; called: Promise<AbortSignal> } {
  let tell: (signal: AbortSignal) => void = () => {};
  const called = new Promise<AbortSignal>((resolve) => {
    tell = resolve;
  });
  const charge = shop.externalEffect('charge', {
    on: 'order.paid',
    businessKey: ({ data }) => chargeKey(data.order),
    timeout: '1 hour',
    heartbeat,
    retry: { initialInterval: 50, maximumInterval: 100 },
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: async ({ signal, attempt }) => {
      if (attempt > 1) return { charged: 'at last' };
      tell(signal);
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return { charged: 'in spite of its signal' };
    },
  });
  return { configuration: { sources: [shop], effects: [charge] }, called };
}

test.concurrent('an attempt whose lease is taken while it beats is told to stop', () => {
  const { configuration, called } = heartbeating('1 second');
  return withHarness(configuration, async (harness) => {
    await harness.worker();
    const event = orderPaid({}, { effects: ['charge'] });
    const handle = await harness.start(event);
    const signal = await called;
    await harness.sql(
      `UPDATE onefold.effects SET fence = fence + 1, owner = gen_random_uuid(), in_doubt = true,
              lease_until = clock_timestamp() + interval '3 seconds' WHERE business_key = $1`,
      [chargeKey(event.id)],
    );
    await until('the end of its signal', () => signal.aborted, 10_000);
    expect(signal.reason).toMatchObject({
      code: 'effect_superseded',
      message: 'the lease was taken by another attempt',
    });
    await handle.terminate();
  });
});

test.concurrent('an attempt that cannot renew its lease is told to stop before the lease is over', () => {
  const { configuration, called } = heartbeating('1 second');
  return withHarness(configuration, async (harness) => {
    const { database } = harness.ledger;
    let away = false;
    const leaving: Database<PgTransaction> = {
      ...database,
      async query(text, values) {
        if (away) throw new Error('PostgreSQL is away');
        return database.query<never>(text, values);
      },
    };
    const stop = await startSteppingWorker(harness, configuration, {
      ledger: { ...harness.ledger, database: leaving },
    });
    try {
      const event = orderPaid({}, { effects: ['charge'] });
      const handle = await harness.start(event);
      const signal = await called;
      away = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      const { left_ms } = await rowOf(harness, chargeKey(event.id));
      away = false;
      expect(left_ms).toBeGreaterThan(0);
      expect(signal.reason).toMatchObject({
        code: 'effect_superseded',
        message: 'the lease could not be renewed in time',
      });
      expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 2, fence: 2 }] });
    } finally {
      await stop();
    }
  });
});
