import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ActivityDependencies } from '../../src/activities/dependencies.js';
import {
  createLookAtParked,
  createRecordParked,
  type RecordParkedArgument,
} from '../../src/activities/record-parked.js';
import { createCatalogue } from '../../src/effects/catalogue.js';
import { planEvent } from '../../src/effects/plan-event.js';
import { park } from '../../src/effects/recovery.js';
import { orderPaid, shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

const charge = shop.externalEffect('charge', {
  on: 'order.paid',
  formerly: ['bill'],
  businessKey: ({ data }) => data.order,
  perform: async () => null,
  recovery: park(),
});
const catalogue = createCatalogue([shop], [charge]);

let harness: Harness;
let recordParked: ReturnType<typeof createRecordParked>;
let lookAtParked: ReturnType<typeof createLookAtParked>;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
  const { ledger, metrics } = harness;
  const deps: Partial<ActivityDependencies> = { ledger, metrics, catalogue };
  recordParked = createRecordParked(deps as ActivityDependencies);
  lookAtParked = createLookAtParked(deps as ActivityDependencies);
});
afterAll(() => harness?.close());

/** An event whose effect the ledger has in a state, under the name that it had formerly. */
async function planned(state: string, claimedBy?: string): Promise<RecordParkedArgument> {
  const event = orderPaid({}, { effects: ['charge'] });
  const input = harness.input(event);
  const eventKey = harness.key(event);
  await planEvent({ catalogue, ledger: harness.ledger, searchAttributes: [] }, eventKey, input);
  await harness.sql(
    `INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest)
     VALUES ('', 'bill', $1, $2, 1, gen_random_uuid(), $3, 'shop/x', '')`,
    [event.id, state, claimedBy ?? eventKey],
  );
  const ref = { ...input, eventKey };
  const letter = {
    event: ref,
    runId: randomUUID(),
    code: 'effect_parked',
    message: 'charge: its outcome is unknown',
    input: '{}',
    effects: '[]',
  };
  return { event: ref, effect: 'charge', businessKey: event.id, letter };
}
const stateOf = async ({ businessKey }: RecordParkedArgument) =>
  (await harness.sql('SELECT state FROM onefold.effects WHERE business_key = $1', [businessKey]))[0]?.state;
const open = ({ event }: RecordParkedArgument) =>
  harness.sql('SELECT parked FROM onefold.dead_letters WHERE event_key = $1 AND closed_at IS NULL', [event.eventKey]);
const counted = async () =>
  (await harness.metrics.deadLetters.get()).values.find(({ labels }) => labels.code === 'effect_parked')?.value ?? 0;

test('an unknown outcome is parked and listed, and counted once', async () => {
  const one = await planned('unknown');
  const before = await counted();
  expect(await recordParked(one)).toEqual({ state: 'parked' });
  expect(await recordParked(one)).toEqual({ state: 'parked' });
  expect(await stateOf(one)).toBe('parked');
  expect(await open(one)).toEqual([{ parked: true }]);
  expect((await counted()) - before).toBe(1);
});

test('what is not unknown is not listed', async () => {
  const one = await planned('released');
  expect(await recordParked(one)).toEqual({ state: 'nothing_unknown' });
  expect(await open(one)).toEqual([]);
});

test('an effect that was found parked and was taken up again since is left to whoever did that', async () => {
  const one = await planned('unknown');
  expect(await recordParked({ ...one, foundParked: true })).toEqual({ state: 'resolved' });
  expect(await stateOf(one)).toBe('unknown');
  expect(await open(one)).toEqual([]);
});

test("a failure that says nothing of another event's doubt does not park it", async () => {
  const one = await planned('unknown', 'event//shop/other');
  expect(await recordParked({ ...one, ownDoubtOnly: true })).toEqual({ state: 'nothing_unknown' });
  expect(await stateOf(one)).toBe('unknown');
  expect(await recordParked(one)).toEqual({ state: 'parked' });
});

test('a look tells that the entry is missing, and writing it again lists the event', async () => {
  const one = await planned('parked');
  expect(await lookAtParked(one)).toEqual({ parked: true, listed: false });
  await recordParked({ ...one, foundParked: true });
  expect(await lookAtParked(one)).toEqual({ parked: true, listed: true });
});
