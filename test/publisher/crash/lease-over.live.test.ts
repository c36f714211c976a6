import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';
import { readHistory } from './support/delivery-history.js';

/** An attempt has 10 s between its row and its socket: with more, its lease could end before its exchange. */
const tooLongMs = 10_500;

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
beforeAll(async () => {
  receiver = await startScriptedReceiver();
  stage = await createDeliveryStage({ worker: false });
  let stoodStill = false;
  await stage.worker(
    {},
    {
      onSendStep: async (step) => {
        if (step !== 'after_begin' || stoodStill) return;
        stoodStill = true;
        // Its worker lives and beats, so that nobody takes it for dead.
        await sleep(tooLongMs);
      },
    },
  );
});
afterAll(async () => {
  await stage?.close();
  await receiver?.close();
});

test('an attempt that comes to its socket late sends nothing and spends nothing; the next one sends', async () => {
  const { id } = await stage.endpoint(receiver.url, { schedule: [] });
  const { publication, eventId } = await stage.publish();
  expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 1 });
  const { sends, waits } = await readHistory(stage.handle(id, publication));
  expect(sends).toBe(2);
  expect(waits).toEqual([expect.stringContaining('nothing was sent')]);
  expect(receiver.of(eventId)).toHaveLength(1);
});
