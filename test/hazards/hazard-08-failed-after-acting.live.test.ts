import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PerformContext } from '../../src/effects/effect.js';
import { forwardsKey, park } from '../../src/effects/recovery.js';
import { type Behaviour, type Partner, startPartner } from '../faults/support/partner.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { postEffect } from './support/post-effect.js';
import { orderPaid, shop } from './support/shop.js';
import { until } from './support/until.js';

let remembering: Partner;
let forgetful: Partner;
let harness: Harness;
/** Where the attempts for a business key go, in order; afterwards to the partner. */
const detours = new Map<string, string[]>();
/** Idempotency keys that the attempts for a business key were given, in order. */
const keys = new Map<string, string[]>();

const performAt =
  (partner: () => Partner) =>
  ({ businessKey, idempotencyKey, signal }: PerformContext<unknown>) => {
    keys.set(businessKey, [...(keys.get(businessKey) ?? []), idempotencyKey]);
    const url = detours.get(businessKey)?.shift() ?? partner().url;
    return postEffect(url, { businessKey, idempotencyKey, signal });
  };
const common = {
  on: 'order.paid',
  timeout: '3 seconds',
  retry: { initialInterval: 50, maximumInterval: 100, maximumAttempts: 5 },
} as const;
const effects = [
  shop.externalEffect('by-key', {
    ...common,
    businessKey: ({ data }) => `by-key:${data.order}`,
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: performAt(() => remembering),
  }),
  shop.externalEffect('or-park', {
    ...common,
    businessKey: ({ data }) => `or-park:${data.order}`,
    recovery: park(),
    perform: performAt(() => forgetful),
  }),
];

beforeAll(async () => {
  remembering = await startPartner({ remembers: true });
  forgetful = await startPartner({ remembers: false });
  harness = await createHarness({ sources: [shop], effects });
});
afterAll(async () => {
  await harness?.close();
  await remembering?.close();
  await forgetful?.close();
});

const rowOf = async (businessKey: string) =>
  (
    await harness.sql('SELECT state, in_doubt, generation FROM onefold.effects WHERE business_key = $1', [businessKey])
  )[0];

/** A URL at which nobody listens any more. */
async function refusingUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

/** Each does what was asked, and lets the attempt fail. */
const failuresAfterActing: readonly (readonly [string, Behaviour])[] = [
  ['answers 500', { kind: 'answer', status: 500, acts: true }],
  ['drops the connection', { kind: 'drop', acts: true }],
  ['hangs past the timeout', { kind: 'hang', acts: true }],
];

/** Each proves that its attempt did nothing: an address to go to, or an answer of the partner. */
const proofs: readonly (readonly [string, () => Promise<string> | Behaviour])[] = [
  ['a refused connection', refusingUrl],
  ['a name that nobody has', async () => 'http://recipient.invalid'],
  ['HTTP 404', () => ({ kind: 'answer', status: 404, acts: false })],
];

/** Lets the next attempt fail with proof, after so many others. */
async function proveNext(
  proof: () => Promise<string> | Behaviour,
  { partner, businessKey, after = [] }: { partner: Partner; businessKey: string; after?: readonly string[] },
): Promise<void> {
  const given = await proof();
  if (typeof given === 'string') detours.set(businessKey, [...after, given]);
  else partner.tell(businessKey, given);
}

async function untilParked(handle: WorkflowHandle): Promise<void> {
  await until('its entry among the dead letters', async () => {
    const letters = await harness.sql('SELECT 1 FROM onefold.dead_letters WHERE event_key = $1 AND parked', [
      handle.workflowId,
    ]);
    return letters.length > 0;
  });
}

test.concurrent.each(failuresAfterActing)(
  'a partner that acts and then %s gets the same key again, and takes one effect',
  async (_what, behaviour) => {
    const event = orderPaid({}, { effects: ['by-key'] });
    const businessKey = `by-key:${event.id}`;
    remembering.tell(businessKey, behaviour);
    expect(await resultOf(await harness.start(event))).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
    const given = keys.get(businessKey) ?? [];
    expect(given).toHaveLength(2);
    expect(new Set(given).size).toBe(1);
    expect(remembering.calls(businessKey)).toBe(2);
    expect(remembering.taken(businessKey)).toHaveLength(1);
    expect(await rowOf(businessKey)).toEqual({ state: 'done', in_doubt: false, generation: 1 });
  },
);

test.concurrent.each(failuresAfterActing)(
  'a partner that acts, then %s, and remembers no keys is not called again: the event waits for a person',
  async (_what, behaviour) => {
    const order = randomUUID();
    const businessKey = `or-park:${order}`;
    forgetful.tell(businessKey, behaviour);
    const first = await harness.start(orderPaid({ order }, { effects: ['or-park'] }));
    await untilParked(first);
    const second = await harness.start(orderPaid({ order }, { effects: ['or-park'] }));
    await untilParked(second);
    expect(forgetful.calls(businessKey)).toBe(1);
    expect(forgetful.taken(businessKey)).toHaveLength(1);
    expect(await rowOf(businessKey)).toEqual({ state: 'parked', in_doubt: true, generation: 1 });
    await Promise.all([first.terminate(), second.terminate()]);
  },
);

test.concurrent.each(proofs)(
  '%s releases the claim: the next attempt has a new key, and needs no recovery',
  async (_what, proof) => {
    const event = orderPaid({}, { effects: ['or-park'] });
    const businessKey = `or-park:${event.id}`;
    await proveNext(proof, { partner: forgetful, businessKey });
    const handle = await harness.start(event);
    const { state } = await until('its end', async () => {
      const row = await rowOf(businessKey);
      return (row?.state === 'done' || row?.state === 'parked') && row;
    });
    expect(state).toBe('done');
    expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
    expect(keys.get(businessKey)).toEqual([expect.stringMatching(/-1$/), expect.stringMatching(/-2$/)]);
    expect(forgetful.taken(businessKey)).toHaveLength(1);
    expect(await rowOf(businessKey)).toEqual({ state: 'done', in_doubt: false, generation: 2 });
  },
);

test.concurrent.each(proofs)(
  '%s after an attempt that acted and then failed releases nothing: the key stays, and the effect is one',
  async (_what, proof) => {
    const event = orderPaid({}, { effects: ['by-key'] });
    const businessKey = `by-key:${event.id}`;
    remembering.tell(businessKey, { kind: 'answer', status: 500, acts: true });
    await proveNext(proof, { partner: remembering, businessKey, after: [remembering.url] });
    expect(await resultOf(await harness.start(event))).toMatchObject({ outcome: 'done', effects: [{ attempts: 3 }] });
    const given = keys.get(businessKey) ?? [];
    expect(given).toHaveLength(3);
    expect(new Set(given).size).toBe(1);
    expect(remembering.taken(businessKey)).toHaveLength(1);
    expect(await rowOf(businessKey)).toEqual({ state: 'done', in_doubt: false, generation: 1 });
  },
);
