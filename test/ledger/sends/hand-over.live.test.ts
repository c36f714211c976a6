import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cancelSend } from '../../../src/ledger/sends/cancel-send.js';
import { endDelivery } from '../../../src/ledger/sends/end-delivery.js';
import { handOverSlots } from '../../../src/ledger/sends/hand-over-slots.js';
import type { DeliveryRef } from '../../../src/workflows/delivery-contract.js';
import { createSendStage, type SendStage } from './support/send-stage.js';

let stage: SendStage;
beforeAll(async () => {
  stage = await createSendStage({ connections: 30 });
});
afterAll(() => stage?.close());

interface Sent {
  readonly ref: DeliveryRef;
  readonly attemptId: string;
  readonly version: number;
}

async function send(ref: DeliveryRef): Promise<Sent> {
  const { attemptId, version } = await stage.begun(ref);
  return { ref, attemptId, version };
}

const end = ({ ref, ...attempt }: Sent) => stage.end(ref, attempt, { ended: 'delivered' });

/** A delivery that finds no slot, and waits. */
async function waiter(endpoint: string): Promise<DeliveryRef> {
  const ref = await stage.delivery(endpoint);
  expect(await stage.begin(ref)).toMatchObject({ kind: 'limited', by: 'concurrency' });
  return ref;
}

async function waiting(ref: DeliveryRef): Promise<boolean> {
  return (await stage.look(ref)).delivery.waiting_since !== null;
}

const handOver = (endpoint: string, notComing?: string) =>
  handOverSlots(stage.ledger.database.query, stage.ledger.schema, { tenant: '', endpoint }, notComing);

test('a slot that gets free is handed over to who has waited longest, and nobody else takes it', async () => {
  const endpoint = await stage.endpoint({ concurrency: 1 });
  const first = await send(await stage.delivery(endpoint));
  const [oldest, second] = [await waiter(endpoint), await waiter(endpoint)];
  // Asking again in between costs nobody the place.
  expect(await stage.begin(oldest)).toMatchObject({ kind: 'limited' });
  expect(await end(first)).toMatchObject({ delivered: true, next: [oldest.publication] });
  expect(await waiting(oldest)).toBe(false);
  expect(await stage.begin(await stage.delivery(endpoint))).toMatchObject({ kind: 'limited' });
  expect(await stage.begin(second)).toMatchObject({ kind: 'limited' });
  const taken = await send(oldest);
  expect(await end(taken)).toMatchObject({ next: [second.publication] });
});

test('a slot that nobody waits for is free at once', async () => {
  const endpoint = await stage.endpoint({ concurrency: 1 });
  expect(await end(await send(await stage.delivery(endpoint)))).not.toHaveProperty('next');
  await send(await stage.delivery(endpoint));
});

test('whoever has a slot handed over takes that one, also where another is free', async () => {
  const endpoint = await stage.endpoint({ concurrency: 2 });
  const [one, two] = [await send(await stage.delivery(endpoint)), await send(await stage.delivery(endpoint))];
  const ref = await waiter(endpoint);
  await end(two);
  await end(one);
  await send(ref);
  const slots = await stage.sql(
    'SELECT slot, held_by, reserved_for FROM onefold.endpoint_slots WHERE endpoint = $1 ORDER BY slot',
    [endpoint],
  );
  expect(slots).toMatchObject([{ held_by: null, reserved_for: null }, { reserved_for: null }]);
  expect(slots[1]?.held_by).not.toBeNull();
});

test('a delivery that does not come costs its endpoint three seconds, and has lost its place', async () => {
  const endpoint = await stage.endpoint({ concurrency: 1 });
  const first = await send(await stage.delivery(endpoint));
  const [dead, alive] = [await waiter(endpoint), await waiter(endpoint)];
  const at = performance.now();
  expect(await end(first)).toMatchObject({ next: [dead.publication] });
  let begun: Awaited<ReturnType<SendStage['begin']>>;
  const attemptId = randomUUID();
  do {
    await sleep(50);
    begun = await stage.begin(alive, { attemptId });
  } while (begun.kind === 'limited');
  expect(performance.now() - at).toBeGreaterThan(2_900);
  expect(performance.now() - at).toBeLessThan(5_000);
  const late = await waiter(endpoint);
  expect(await stage.begin(dead)).toMatchObject({ kind: 'limited' });
  expect(await stage.end(alive, { attemptId, version: 1 }, { ended: 'retry' })).toMatchObject({
    next: [late.publication],
  });
});

test('where it is known that it will not come, the next one gets its slot at once', async () => {
  const endpoint = await stage.endpoint({ concurrency: 1 });
  const first = await send(await stage.delivery(endpoint));
  const [dead, alive] = [await waiter(endpoint), await waiter(endpoint)];
  await end(first);
  expect(await handOver(endpoint)).toEqual([]);
  expect(await handOver(endpoint, dead.publication)).toEqual([alive.publication]);
  expect(await stage.begin(dead)).toMatchObject({ kind: 'limited' });
  await send(alive);
});

test('an attempt that is taken back hands its slot over too', async () => {
  const endpoint = await stage.endpoint({ concurrency: 1 });
  const { ref, attemptId } = await send(await stage.delivery(endpoint));
  const next = await waiter(endpoint);
  const { query } = stage.ledger.database;
  expect(await cancelSend(query, stage.ledger.schema, { ...ref, attemptId })).toEqual([next.publication]);
  expect(await stage.look(ref)).toMatchObject({
    delivery: { attempts: 0, possible_arrivals: 0, sending: null },
    attempts: [],
  });
  expect(await cancelSend(query, stage.ledger.schema, { ...ref, attemptId })).toEqual([]);
  await send(next);
});

test('slots that processes died with are handed over by the next end', async () => {
  const endpoint = await stage.endpoint({ concurrency: 4 });
  const sent: Sent[] = [];
  for (let nth = 0; nth < 4; nth++) sent.push(await send(await stage.delivery(endpoint)));
  const waiters: DeliveryRef[] = [];
  for (let nth = 0; nth < 5; nth++) waiters.push(await waiter(endpoint));
  for (const { ref } of sent.slice(1)) await stage.outlive(ref);
  const { next } = await end(sent[0] as Sent);
  expect([...(next ?? [])].sort()).toEqual(
    waiters
      .slice(0, 4)
      .map(({ publication }) => publication)
      .sort(),
  );
});

test('whoever ends, or finds the endpoint taking nothing, waits for no slot any more', async () => {
  const endpoint = await stage.endpoint({ concurrency: 1 });
  const first = await send(await stage.delivery(endpoint));
  const [ended, held, next] = [await waiter(endpoint), await waiter(endpoint), await waiter(endpoint)];
  await endDelivery(stage.ledger.database.query, stage.ledger.schema, {
    ...ended,
    deliveryKey: `publication//${endpoint}/${ended.publication}`,
    eventId: 'msg_1',
    type: 'order.confirmed',
    runId: 'run-1',
    input: '{}',
    outcome: 'dead_lettered',
    code: 'budget_spent',
    message: '',
    reasons: '[]',
  });
  await stage.sql(`UPDATE onefold.endpoints SET state = 'paused' WHERE id = $1`, [endpoint]);
  expect(await stage.begin(held)).toMatchObject({ kind: 'held' });
  expect([await waiting(ended), await waiting(held), await waiting(next)]).toEqual([false, false, true]);
  // A paused endpoint hands nothing over.
  expect(await end(first)).not.toHaveProperty('next');
  await stage.sql(`UPDATE onefold.endpoints SET state = 'enabled' WHERE id = $1`, [endpoint]);
  expect(await handOver(endpoint)).toEqual([next.publication]);
});

test('who is refused by the rate waits for no slot', async () => {
  const endpoint = await stage.endpoint({ concurrency: 5, rateLimit: 0.1 });
  await send(await stage.delivery(endpoint));
  const ref = await stage.delivery(endpoint);
  expect(await stage.begin(ref)).toMatchObject({ kind: 'limited', by: 'rate' });
  expect(await waiting(ref)).toBe(false);
});

test('of many that end at once, no two call the same one', async () => {
  const endpoint = await stage.endpoint({ concurrency: 12 });
  const sent: Sent[] = [];
  for (let nth = 0; nth < 12; nth++) sent.push(await send(await stage.delivery(endpoint)));
  for (let nth = 0; nth < 15; nth++) await waiter(endpoint);
  const called = (await Promise.all(sent.map(end))).flatMap(({ next }) => next ?? []);
  expect(new Set(called).size).toBe(called.length);
  // Those whom one passed over since another one was just calling them are called by the next end.
  expect(called.length).toBeGreaterThanOrEqual(11);
});

test('twenty who wait are served in their order, beside newcomers; no slot stands idle, and none is held twice', async () => {
  const limit = 3;
  const endpoint = await stage.endpoint({ concurrency: limit });
  const bells = new Map<string, () => void>();
  const served: string[] = [];
  let holding = 0;
  let most = 0;
  let over = false;

  /** As a workflow does: it comes when it is told, and otherwise asks now and then. */
  const carry = async (ref: DeliveryRef, pollMs: number): Promise<void> => {
    for (;;) {
      const attemptId = randomUUID();
      const told = new Promise<void>((resolve) => bells.set(ref.publication, resolve));
      const begun = await stage.begin(ref, { attemptId });
      if (begun.kind === 'begun') {
        most = Math.max(most, ++holding);
        served.push(ref.publication);
        await sleep(20);
        holding--;
        const { next } = await stage.end(ref, { attemptId, version: begun.version }, { ended: 'delivered' });
        for (const publication of next ?? []) bells.get(publication)?.();
        return;
      }
      await Promise.race([told, sleep(pollMs, undefined, { ref: false })]);
    }
  };

  const blocking: Sent[] = [];
  for (let nth = 0; nth < limit; nth++) blocking.push(await send(await stage.delivery(endpoint)));
  const waiters: DeliveryRef[] = [];
  for (let nth = 0; nth < 20; nth++) waiters.push(await waiter(endpoint));
  const work = waiters.map((ref) => carry(ref, 60_000));
  await sleep(300);
  const newcomers: Promise<void>[] = [];
  const arrivals = (async () => {
    while (!over) {
      newcomers.push(carry(await stage.delivery(endpoint), 60_000));
      await sleep(50);
    }
  })();
  const from = performance.now();
  for (const one of blocking) for (const publication of (await end(one)).next ?? []) bells.get(publication)?.();
  await Promise.all(work);
  const tookMs = performance.now() - from;
  over = true;
  await arrivals;
  await Promise.all(newcomers);

  expect(most).toBeLessThanOrEqual(limit);
  const order = served.filter((publication) => waiters.some((ref) => ref.publication === publication));
  order.forEach((publication, place) => {
    const came = waiters.findIndex((ref) => ref.publication === publication);
    expect(Math.abs(came - place)).toBeLessThanOrEqual(4);
  });
  // Nobody was overtaken by those who came later: where all of the twenty are served, few newcomers are.
  expect(served.indexOf(order.at(-1) as string)).toBeLessThanOrEqual(24);
  // Nobody polled in this time, and nobody waited for a slot that was kept for another one.
  expect(tookMs).toBeLessThan(3_000);
});
