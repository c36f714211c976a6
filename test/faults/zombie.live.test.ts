import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { park, reconcile } from '../../src/effects/recovery.js';
import type { Database } from '../../src/ledger/database.js';
import type { PgTransaction } from '../../src/ledger/pg-database.js';
import { createGate, type Gate } from '../hazards/support/gate.js';
import { until } from '../hazards/support/until.js';
import { type Configuration, createHarness, type Harness, resultOf, type TestEvent } from '../setup/harness.js';
import { askPartner, callPartner } from './support/call-partner.js';
import { carriedEvent, judge, type Partners } from './support/carried-event.js';
import { businessKeyOf, carrier, carrierEffects, labelsTable } from './support/carrier.js';
import { startSteppingWorker } from './support/stepping-worker.js';
import { startPartners } from './support/three-partners.js';

let partners: Partners & { close(): Promise<void> };
beforeAll(async () => {
  partners = await startPartners();
});
afterAll(() => partners?.close());

const urls = () => ({
  forwardsKey: partners.forwardsKey.url,
  reconcile: partners.reconcile.url,
  park: partners.park.url,
});

/** Another event for the same business identity. */
function twinOf(event: TestEvent): TestEvent {
  return { ...event, id: `${event.id}-twin` };
}

async function withHarness(configuration: Configuration, work: (harness: Harness) => Promise<void>): Promise<void> {
  const harness = await createHarness(configuration, { setup: labelsTable, worker: false });
  try {
    await work(harness);
  } finally {
    await harness.close();
  }
}

test('a zombie that comes back while its successor acts does not complete the successor’s claim', async () => {
  const configuration = carrierEffects(urls());
  await withHarness(configuration, async (harness) => {
    const { event, ...rest } = carriedEvent('', 'forwardsKey');
    const twin = twinOf(event);
    const zombie = createGate();
    const successor = createGate();
    const gates = new Map<string, Gate>([
      [harness.key(event), zombie],
      [harness.key(twin), successor],
    ]);
    const stop = await startSteppingWorker(harness, configuration, {
      onStep: async (step, { eventKey, attempt }) => {
        if (step === 'after_call' && attempt === 1) await gates.get(eventKey)?.pass();
      },
    });
    try {
      const first = await harness.start(event);
      await zombie.reached;
      const second = await harness.start(twin);
      await successor.reached;
      zombie.open();
      const [row] = await until('the superseded attempt', async () => {
        const rows = await harness.sql('SELECT event_key, ended FROM onefold.superseded_attempts');
        return rows.length > 0 && rows;
      });
      expect(row).toEqual({ event_key: harness.key(event), ended: 'performed' });
      expect(await harness.sql('SELECT state FROM onefold.effects')).toEqual([{ state: 'claimed' }]);
      expect(await harness.sql('SELECT 1 FROM labels')).toEqual([]);
      successor.open();
      // The work was begun for the first event, and is its own still.
      expect((await resultOf(second)).outcome).toBe('already_done');
      expect((await resultOf(first)).outcome).toBe('done');
      expect(await judge(harness, partners, { event, ...rest })).toEqual({
        taken: 1,
        ledger: ['done'],
        labels: 1,
        event: 'done',
        openDeadLetters: 0,
      });
    } finally {
      await stop();
    }
  });
});

test('an attempt that is held beyond its timeout before the call does not make it, however deaf its client is', async () => {
  // Without heartbeats: the lease still runs when the time is over, so nothing but the clock stands in the way.
  const deaf = carrier.externalEffect('ship-deaf', {
    on: 'order.park',
    businessKey: ({ data }) => businessKeyOf(data.order),
    timeout: '1 second',
    retry: { initialInterval: 100, maximumInterval: 400 },
    recovery: park(),
    perform: ({ signal: _unheard, ...call }) =>
      callPartner(urls().park, { ...call, signal: AbortSignal.timeout(5000) }),
  });
  const configuration = { sources: [carrier], effects: [deaf] };
  await withHarness(configuration, async (harness) => {
    const { event, businessKey } = carriedEvent('', 'park');
    const attempts: string[] = [];
    const stop = await startSteppingWorker(harness, configuration, {
      onStep: async (step, { attempt }) => {
        attempts.push(`${attempt} ${step}`);
        if (step === 'before_call' && attempt === 1) await sleep(1500);
      },
    });
    try {
      const handle = await harness.start({ ...event, effects: ['ship-deaf'] });
      expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
      expect(attempts).not.toContain('1 after_call');
      expect(partners.park.calls(businessKey)).toBe(1);
      expect(partners.park.taken(businessKey)).toHaveLength(1);
    } finally {
      await stop();
    }
  });
});

describe('a worker that stands still between a statement and its answer', () => {
  // The lease is over when it hears of it, and its timeout is not.
  const configuration = (): Configuration => ({
    sources: [carrier],
    effects: [
      carrier.externalEffect('ship-and-ask', {
        on: 'order.reconcile',
        businessKey: ({ data }) => businessKeyOf(data.order),
        timeout: '40 seconds',
        heartbeat: '500ms',
        retry: { initialInterval: 100, maximumInterval: 400 },
        recovery: reconcile((call) => askPartner(urls().reconcile, call), { settleAfter: '500ms' }),
        perform: (call) => callPartner(urls().reconcile, call),
      }),
    ],
  });

  test.each([
    // Of the first event's attempt, which stands still until the other event has its effect.
    ['claim', /INSERT INTO \S+\.effects AS c/, undefined],
    // Longer than a claim counts as fresh, so that it asks again.
    ['renewal of its lease', /UPDATE \S+\.effects AS c SET lease_until/, 1500],
  ] as const)('does not call on the strength of that %s', async (_what, statement, waitBeforeCallMs) => {
    await withHarness(configuration(), async (harness) => {
      const { event, businessKey } = carriedEvent('', 'reconcile');
      const twin = twinOf(event);
      const still = createGate();
      const { database } = harness.ledger;
      let met = 0;
      const standing: Database<PgTransaction> = {
        ...database,
        async query(text, values) {
          const answer = await database.query<never>(text, values);
          if (!statement.test(text)) return answer;
          met += 1;
          if (met === 1) await still.pass();
          return answer;
        },
      };
      const stop = await startSteppingWorker(harness, configuration(), {
        ledger: { ...harness.ledger, database: standing },
        onStep: async (step, { eventKey, attempt }) => {
          if (step !== 'before_call' || attempt !== 1 || eventKey !== harness.key(event)) return;
          if (waitBeforeCallMs !== undefined) await sleep(waitBeforeCallMs);
        },
      });
      try {
        const first = await harness.start(event);
        await still.reached;
        const second = await harness.start(twin);
        await until('the effect of the other event', () => partners.reconcile.taken(businessKey).length > 0);
        still.open();
        await Promise.all([resultOf(first), resultOf(second)]);
        expect(partners.reconcile.taken(businessKey)).toHaveLength(1);
        expect(partners.reconcile.calls(businessKey)).toBe(1);
        expect(await harness.sql('SELECT event_key, ended FROM onefold.superseded_attempts')).toEqual([
          { event_key: harness.key(event), ended: 'not_done' },
        ]);
      } finally {
        await stop();
      }
    });
  });
});
