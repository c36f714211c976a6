import { afterAll, beforeAll, expect, test } from 'vitest';
import { operationsContext } from '../../../src/operations/context.js';
import { readClosedDelivery } from '../../../src/operations/deliveries/closed-delivery.js';
import { readDeliveryName } from '../../../src/operations/deliveries/read-delivery-name.js';
import { createDeliveryStage, type DeliveryStage } from '../../publisher/support/delivery-stage.js';

let stage: DeliveryStage;
beforeAll(async () => {
  stage = await createDeliveryStage({ worker: false });
});
afterAll(() => stage?.close());

/** Why a delivery that has been queued for so long, behind so many, is not replayed. */
async function refusal(queuedFor: string, ahead = 0): Promise<string> {
  const { id: endpoint } = await stage.endpoint('http://127.0.0.1:9/', { types: ['order.confirmed'] });
  const { publication } = await stage.publish();
  await stage.sql(
    `UPDATE onefold.publication_deliveries SET queued_at = clock_timestamp() - $2::interval WHERE endpoint = $1`,
    [endpoint, queuedFor],
  );
  await stage.sql(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state)
     SELECT '', 'ahead-' || nth, $1, 'started' FROM generate_series(1, $2::int) nth`,
    [endpoint, ahead],
  );
  const context = stage.onefold[operationsContext];
  const delivery = readDeliveryName({ endpoint, publication });
  const read = readClosedDelivery(context, delivery, context.ledger.database.query);
  return read.then(
    () => 'none',
    (error) => `${error.code}: ${error.message}`,
  );
}

test('a delivery that was queued just now waits for a relay that is about to start it', async () => {
  expect(await refusal('50 seconds')).toMatch(/^replay_refused: .*a relay is about to do that$/);
});

test('a delivery that has been queued for a minute tells that no relay seems to run', async () => {
  expect(await refusal('3 minutes')).toMatch(/^replay_refused: .*has waited for 3 min, so no relay seems to run/);
});

test('a delivery that is queued behind a full window of its endpoint tells so', async () => {
  expect(await refusal('3 minutes', 200)).toMatch(/since others to its endpoint are to be sent first$/);
});
