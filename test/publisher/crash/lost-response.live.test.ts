import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type Meddling, type MeddlingProxy, startMeddlingProxy } from './support/meddling-proxy.js';
import { type ReceivingPartner, sourcePath, startReceivingPartner } from './support/receiving-partner.js';

/** The test's own; it signs nothing elsewhere. */
const secret = 'whsec_b25lZm9sZC1sb3N0LXJlc3BvbnNlLXRlc3Qta2V5';

let stage: DeliveryStage;
let partner: ReceivingPartner;
let proxy: MeddlingProxy;
let endpoint: string;
/** For the next requests, one each; then everything passes. */
const meddlings: Meddling[] = [];

beforeAll(async () => {
  partner = await startReceivingPartner(secret);
  proxy = await startMeddlingProxy(
    () => partner.origin,
    () => meddlings.shift() ?? { copiesAfterMs: [0], answer: 'passed' },
  );
  stage = await createDeliveryStage();
  ({ id: endpoint } = await stage.endpoint(`${proxy.url}${sourcePath}`, { secret, schedule: [1000, 1000, 1000] }));
});
afterAll(async () => {
  await stage?.close();
  await proxy?.close();
  await partner?.close();
});

const bookingsOf = async (eventId: string) => (await partner.bookings()).filter((event) => event === eventId);
const answersTo = (eventId: string) => proxy.answers.filter(({ id }) => id === eventId);

test('a 2xx that is lost on its way: the retry bears the same webhook-id and meets what is done', async () => {
  meddlings.push({ copiesAfterMs: [0], answer: 'lost' });
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered', attempts: 2 });
  expect(proxy.requests.filter(({ id }) => id === eventId)).toHaveLength(2);
  const [first, ...retries] = answersTo(eventId);
  expect(first).toMatchObject({ status: 202, onefoldPath: 'first_run' });
  expect(retries).toEqual([expect.objectContaining({ status: 200, onefoldPath: 'duplicate_done' })]);
  expect(await bookingsOf(eventId)).toHaveLength(1);
  const attempts = await stage.sql(
    'SELECT ended, code, status FROM onefold.publication_attempts WHERE publication = $1 ORDER BY started_at',
    [publication],
  );
  expect(attempts).toEqual([
    { ended: 'retry', code: 'connection_reset', status: null },
    { ended: 'delivered', code: null, status: 200 },
  ]);
});

test('a request that arrives after its sender gave up, and beside the retry, is one effect', async () => {
  meddlings.push({ copiesAfterMs: [1200, 1200, 1300, 3000], answer: 'none' });
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered' });
  await proxy.settled();
  await until('the booking', async () => (await bookingsOf(eventId)).length > 0);
  const answers = answersTo(eventId);
  expect(answers.length).toBeGreaterThanOrEqual(5);
  expect(answers.every(({ status }) => status === 200 || status === 202)).toBe(true);
  expect(answers.at(-1)).toMatchObject({ onefoldPath: 'duplicate_done' });
  expect(await bookingsOf(eventId)).toHaveLength(1);
});
