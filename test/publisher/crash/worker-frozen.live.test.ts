import { afterAll, beforeAll, expect, test } from 'vitest';
import { killWorkers } from '../../hazards/support/spawn-worker.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';
import { spawnSender } from './support/spawn-sender.js';

/** A delivery whose first attempt is frozen; each has a tenant and an endpoint of its own. */
interface Frozen {
  readonly publication: string;
  readonly tenant: string;
  readonly atMostOnce: boolean;
}

const unsent: Frozen = { publication: 'after_begin:1', tenant: 'unsent', atMostOnce: false };
const unsentOnce: Frozen = { publication: 'after_begin:2', tenant: 'unsent-once', atMostOnce: true };
const arrived: Frozen = { publication: 'after_exchange:1', tenant: 'arrived', atMostOnce: false };
const arrivedOnce: Frozen = { publication: 'after_exchange:2', tenant: 'arrived-once', atMostOnce: true };
const refusedNext: Frozen = { publication: 'after_exchange:3', tenant: 'refused-next', atMostOnce: false };
const all = [unsent, unsentOnce, arrived, arrivedOnce, refusedNext];

/** All that is known of a delivery. */
interface Standing {
  readonly end: unknown;
  readonly delivery: Record<string, any>;
  readonly attempts: readonly Record<string, any>[];
  readonly letters: readonly Record<string, any>[];
  readonly requests: number;
}

/** Against hanging only. */
const hangsAfterMs = 300_000;

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
/** As the other worker left it, and after the frozen one had woken and written what it had to. */
const before = new Map<Frozen, Standing>();
const after = new Map<Frozen, Standing>();

beforeAll(async () => {
  receiver = await startScriptedReceiver();
  stage = await createDeliveryStage({ worker: false });
  const endpoints = new Map<Frozen, string>();
  const eventIds = new Map<Frozen, string>();
  const standings = async (into: Map<Frozen, Standing>): Promise<void> => {
    for (const one of all) {
      const { publication, tenant } = one;
      const endpoint = endpoints.get(one) as string;
      into.set(one, {
        end: await stage.end(endpoint, publication, tenant),
        delivery: await stage.row(endpoint, publication, tenant),
        attempts: await stage.sql(
          'SELECT * FROM onefold.publication_attempts WHERE publication = $1 ORDER BY started_at',
          [publication],
        ),
        letters: await stage.sql('SELECT code, closed_by FROM onefold.dead_letters WHERE event_id = $1', [publication]),
        requests: receiver.of(eventIds.get(one) as string).length,
      });
    }
  };
  const sender = await spawnSender(stage);
  for (const one of all) {
    const { publication, tenant, atMostOnce } = one;
    // Its time is far from over when its worker wakes: nothing but its lease keeps the attempt from sending.
    endpoints.set(one, (await stage.endpoint(receiver.url, { tenant, atMostOnce, timeout: '15 seconds' })).id);
    eventIds.set(one, (await stage.publish(publication, tenant)).eventId);
  }
  receiver.answer(({ id }) => (id === eventIds.get(refusedNext) && receiver.of(id).length > 1 ? 404 : 200));
  await sender.held(all.map(({ publication }) => publication));
  await sender.freeze();
  await stage.worker();
  await standings(before);
  await sender.wake();
  await sender.stop();
  await standings(after);
}, hangsAfterMs);
afterAll(async () => {
  await killWorkers();
  await stage?.close();
  await receiver?.close();
});

test('an attempt that wakes after its lease sends nothing, and changes nothing of what another one did', () => {
  const left = before.get(unsent);
  expect(left).toMatchObject({ end: { outcome: 'delivered', attempts: 2 }, requests: 1, letters: [] });
  expect(left?.attempts.map(({ ended }) => ended)).toEqual(['outcome_unknown', 'delivered']);
  expect(after.get(unsent)).toEqual(left);
});

test('at an endpoint that wants each message at most once it sends nothing either', () => {
  const left = before.get(unsentOnce);
  expect(left).toMatchObject({ end: { failed: 'outcome_unknown' }, requests: 0, letters: [{ closed_by: null }] });
  expect(after.get(unsentOnce)).toEqual(left);
});

test('an answer that is written late is still true: its attempt is delivered, the delivery stays so', () => {
  const left = before.get(arrived);
  expect(left?.attempts.map(({ ended }) => ended)).toEqual(['outcome_unknown', 'delivered']);
  const { attempts, ...rest } = after.get(arrived) as Standing;
  expect(attempts.map(({ ended, status }) => [ended, status])).toEqual([
    ['delivered', 200],
    ['delivered', 200],
  ]);
  expect(rest).toMatchObject({ end: { outcome: 'delivered' }, delivery: { state: 'delivered' }, requests: 2 });
});

test.each([
  ['another attempt was refused', refusedNext, 'http_404', 2],
  ['no other attempt was allowed', arrivedOnce, 'outcome_unknown', 1],
])('where %s meanwhile, a late answer closes the dead letter', (_, one, code, requests) => {
  const left = before.get(one);
  expect(left).toMatchObject({ end: { failed: code }, delivery: { state: 'dead_lettered' }, requests });
  expect(left?.letters).toEqual([{ code, closed_by: null }]);
  expect(after.get(one)).toMatchObject({
    delivery: { state: 'delivered' },
    letters: [{ code, closed_by: 'delivery' }],
    requests,
  });
});
