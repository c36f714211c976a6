import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/ledger/database.js';
import { createStage, type Deployed, type Stage } from '../operations/support/stage.js';
import { createGate, type Gate } from './support/gate.js';
import { shipmentsTable, shop } from './support/shop.js';

/** Orders whose shipping fails, and dead letters whose answer waits at a gate once they are written. */
const failing = new Set<string>();
const letterGates = new Map<string, Gate>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry: { maximumAttempts: 1 },
  commit: async ({ event, tx }) => {
    if (failing.has(event.data.order)) throw new Error('the warehouse said no');
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

/** Stretches the moment between the dead letter and the end of its workflow. */
function slowAfterDeadLetter<Tx>(database: Database<Tx>): Database<Tx> {
  return {
    ...database,
    query: async (text, values) => {
      const result = await database.query<any>(text, values);
      const order = /INTO "onefold".dead_letters/.test(text) ? String(values?.[3]) : '';
      await letterGates.get(order)?.pass();
      return result;
    },
  };
}

let stage: Stage;
let app: Deployed;
beforeAll(async () => {
  stage = await createStage({ setup: shipmentsTable });
  app = stage.deploy([shipOrder], { around: slowAfterDeadLetter });
  await app.startWorker();
});
afterAll(() => stage?.close());

const shipments = (order: string) => stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order]);
const lettersOf = (order: string) =>
  stage.sql('SELECT occurrences, closed_at FROM onefold.dead_letters WHERE event_id = $1 ORDER BY id', [order]);
const replay = (order: string) => app.onefold.replay(`shop/${order}`, { by: 'bob', reason: 'mended' });
const ended = (order: string) =>
  stage.client.workflow
    .getHandle(`event//shop/${order}`)
    .result()
    .catch(() => {});

test('a replay between the dead letter and the end of its workflow waits for the end and is carried out', async () => {
  const order = randomUUID();
  failing.add(order);
  const gate = createGate();
  letterGates.set(order, gate);
  await app.deliver(order);
  await gate.reached;
  failing.delete(order);

  let settled = false;
  const replaying = replay(order).finally(() => {
    settled = true;
  });
  await sleep(300);
  expect(settled).toBe(false);
  gate.open();
  expect(await replaying).toMatchObject({ outcome: 'started', state: { ledger: 'dead_lettered', temporal: 'failed' } });
  await ended(order);
  expect(await shipments(order)).toHaveLength(1);
  expect(await lettersOf(order)).toEqual([{ occurrences: 1, closed_at: expect.any(Date) }]);
});

test('a replay that a redelivery has overtaken says that it lost the race, and the effect happens once', async () => {
  const order = randomUUID();
  failing.add(order);
  await app.deliver(order);
  await ended(order);
  failing.delete(order);
  // The redelivery comes in the moment after the replay has looked and before it starts.
  const overtaken = stage.deploy([shipOrder], {
    around: (database) => ({
      ...database,
      query: async (text, values) => {
        if (/INTO "onefold".acts/.test(text)) {
          expect((await app.deliver(order)).path).toBe('retry_after_failure');
          await ended(order);
        }
        return database.query<any>(text, values);
      },
    }),
  });
  expect(await overtaken.onefold.replay(`shop/${order}`, { by: 'bob', reason: 'mended' })).toMatchObject({
    outcome: 'lost_race',
  });
  expect(await shipments(order)).toHaveLength(1);
  expect(await stage.sql('SELECT outcome FROM onefold.acts WHERE event_key = $1', [`event//shop/${order}`])).toEqual([
    { outcome: 'lost_race' },
  ]);
});
