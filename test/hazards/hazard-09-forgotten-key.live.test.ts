import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AttemptVanished } from '../../src/effects/attempt-steps.js';
import type { ReceivedEvent } from '../../src/effects/event.js';
import { forwardsKey, park, type ReconcileContext } from '../../src/effects/recovery.js';
import { askPartner } from '../faults/support/call-partner.js';
import { type Partner, startPartner } from '../faults/support/partner.js';
import { startSteppingWorker } from '../faults/support/stepping-worker.js';
import { type Configuration, createHarness, type Harness, resultOf } from '../setup/harness.js';
import { chargeKey, chargingShop, configure } from './support/charging-shop.js';
import { nudged } from './support/nudged.js';
import { postEffect } from './support/post-effect.js';
import { orderPaid, shop } from './support/shop.js';
import { spawnConfiguredWorker } from './support/spawn-configured-worker.js';
import { killWorkers } from './support/spawn-worker.js';
import { type StoringRecipient, startStoringRecipient } from './support/storing-recipient.js';
import { until } from './support/until.js';

/** It dedupes on the keys that it remembers. */
let partner: Partner;
let storing: StoringRecipient;
let harness: Harness;
const common = {
  on: 'order.paid',
  timeout: '5 seconds',
  // Nothing comes by itself while a test lets days pass.
  retry: { initialInterval: '1 hour' },
} as const;
const effects = [
  shop.externalEffect('by-key', {
    ...common,
    businessKey: ({ data }) => `by-key:${data.order}`,
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: (call) => postEffect(partner.url, call),
  }),
  shop.externalEffect('by-key-then-ask', {
    ...common,
    businessKey: ({ data }) => `by-key-then-ask:${data.order}`,
    recovery: forwardsKey({
      validFor: '1 day',
      settleAfter: 1,
      reconcile: async (call: ReconcileContext<ReceivedEvent>) => {
        const answer = await askPartner(partner.url, call);
        return typeof answer === 'string' ? answer : { done: { id: answer.done.id } };
      },
    }),
    perform: (call) => postEffect(partner.url, call),
  }),
  shop.externalEffect('refused-first', {
    ...common,
    businessKey: ({ data }) => `refused-first:${data.order}`,
    retry: { initialInterval: 50, maximumInterval: 100, maximumAttempts: 4 },
    recovery: park(),
    perform: (call) => postEffect(storing.url, call),
  }),
];

beforeAll(async () => {
  partner = await startPartner({ remembers: true });
  storing = await startStoringRecipient();
  harness = await createHarness({ sources: [shop], effects });
});
afterAll(async () => {
  await killWorkers();
  await harness?.close();
  await partner?.close();
  await storing?.close();
});

/** What a day does: the recipient prunes its keys. */
async function letADayPass(businessKey: string): Promise<void> {
  await harness.sql(`UPDATE onefold.effects SET key_since = key_since - interval '1 day' WHERE business_key = $1`, [
    businessKey,
  ]);
  partner.forgetKeys();
}

/** Two attempts while the key is remembered, then a day: the third must not send it again. */
async function attemptTwiceThenLetADayPass(effect: string, acts: boolean): Promise<[WorkflowHandle, string]> {
  const event = orderPaid({}, { effects: [effect] });
  const businessKey = `${effect}:${event.id}`;
  partner.tell(businessKey, { kind: 'drop', acts }, 2);
  const handle = await harness.start(event);
  const unknownAfter = (attempts: number) =>
    until(`attempt ${attempts}`, async () => {
      const { length } = harness.lines.filter(
        ({ msg, eventKey }) => msg === 'effect.outcome_unknown' && eventKey === handle.workflowId,
      );
      return length === attempts;
    });
  await unknownAfter(1);
  await nudged([handle], () => unknownAfter(2));
  await letADayPass(businessKey);
  return [handle, businessKey];
}

test('a key that the recipient may have forgotten is not sent again: the event waits for a person', async () => {
  const [handle, businessKey] = await attemptTwiceThenLetADayPass('by-key', true);
  await nudged([handle], () =>
    until('its entry among the dead letters', async () => {
      const letters = await harness.sql('SELECT 1 FROM onefold.dead_letters WHERE event_key = $1 AND parked', [
        handle.workflowId,
      ]);
      return letters.length > 0;
    }),
  );
  expect(partner.calls(businessKey)).toBe(2);
  expect(partner.taken(businessKey)).toHaveLength(1);
  await handle.terminate();
});

test('a recipient that forgot the key and can be asked is asked, and its word is the result', async () => {
  const [handle, businessKey] = await attemptTwiceThenLetADayPass('by-key-then-ask', true);
  const result = await nudged([handle], () => resultOf(handle));
  const [taken, ...more] = partner.taken(businessKey);
  expect(more).toEqual([]);
  expect(result).toMatchObject({
    outcome: 'done',
    effects: [{ attempts: 3, result: { json: JSON.stringify({ id: taken?.id }) } }],
  });
  expect(partner.calls(businessKey)).toBe(2);
});

test('a recipient that forgot the key and has no trace of the effect is called again, and takes one', async () => {
  const [handle, businessKey] = await attemptTwiceThenLetADayPass('by-key-then-ask', false);
  expect(await nudged([handle], () => resultOf(handle))).toMatchObject({ outcome: 'done', effects: [{ attempts: 3 }] });
  expect(partner.calls(businessKey)).toBe(3);
  expect(partner.taken(businessKey)).toHaveLength(1);
});

test('a recipient that gives its stored refusal to a known key gets a new key after it', async () => {
  storing.refuseNext();
  const handle = await harness.start(orderPaid({}, { effects: ['refused-first'] }));
  expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
  expect(storing.answers).toEqual([402, 200]);
  expect(storing.taken).toEqual([expect.stringMatching(/-2$/)]);
});

/** Of an event whose first attempt is gone after its call: one effect, taken under the key that both attempts handed over. */
async function expectOneUnderItsKey(handle: WorkflowHandle, business: string): Promise<void> {
  expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
  expect(partner.calls(business)).toBe(2);
  expect(partner.taken(business)).toEqual([expect.objectContaining({ key: expect.stringMatching(/-1$/) })]);
}

async function withCharging(
  work: (charging: Harness, configuration: Configuration, event: ReturnType<typeof orderPaid>) => Promise<void>,
): Promise<void> {
  const configuration = configure({ partner: partner.url });
  const charging = await createHarness(configuration, { worker: false });
  try {
    await work(charging, configuration, orderPaid({}, { effects: ['charge'] }));
  } finally {
    await charging.close();
  }
}

test('an attempt that vanishes after its call leaves its key to the next one', () =>
  withCharging(async (charging, configuration, event) => {
    const stop = await startSteppingWorker(charging, configuration, {
      onStep: (step, { attempt }) => {
        if (step === 'after_call' && attempt === 1) throw new AttemptVanished(step);
      },
    });
    try {
      await expectOneUnderItsKey(await charging.start(event), chargeKey(event.id));
    } finally {
      await stop();
    }
  }));

test('a worker that is killed with SIGKILL after its call leaves its key to another worker', () =>
  withCharging(async (charging, _configuration, event) => {
    const doomed = await spawnConfiguredWorker(charging, {
      module: chargingShop,
      given: { partner: partner.url },
      halt: { at: 'after_call', by: 'SIGKILL' },
    });
    const handle = await charging.start(event);
    expect(await doomed.exited).toBe('SIGKILL');
    expect(partner.taken(chargeKey(event.id))).toHaveLength(1);
    await charging.worker();
    await expectOneUnderItsKey(handle, chargeKey(event.id));
  }));
