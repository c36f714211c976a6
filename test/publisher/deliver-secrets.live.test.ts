import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSealer } from '../../src/runtime/seal.js';
import { until } from '../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from './support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from './support/scripted-receiver.js';

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
beforeAll(async () => {
  stage = await createDeliveryStage({ worker: false });
  receiver = await startScriptedReceiver();
});
afterAll(async () => {
  await receiver?.close();
  await stage?.close();
});

const inLog = (msg: string) => stage.lines.filter((line) => line.msg === msg);

test('a worker without the key says so, sends nothing and spends nothing; one that has it delivers', async () => {
  const { id } = await stage.endpoint(receiver.url);
  const other = createSealer(`other:${randomBytes(32).toString('base64')}`);
  const without = await stage.worker({}, { sealer: other });
  const { publication, eventId } = await stage.publish();
  await until('it is told', () => inLog('delivery.unsent').length > 1);
  expect(inLog('delivery.unsent')[0]).toMatchObject({ level: 'warn', code: 'secret_unreadable', publication });
  expect(await stage.row(id, publication)).toMatchObject({ state: 'started', attempts: 0, possible_arrivals: 0 });
  const attempts = await stage.sql('SELECT 1 FROM onefold.publication_attempts WHERE publication = $1', [publication]);
  expect(attempts).toEqual([]);
  expect(receiver.requests).toEqual([]);
  const slots = await stage.sql('SELECT 1 FROM onefold.endpoint_slots WHERE held_by IS NOT NULL');
  expect(slots).toEqual([]);
  await without.stop();
  await stage.worker();
  expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 1 });
  expect(receiver.of(eventId)).toHaveLength(1);
});

test('a worker without any key starts, and says that it cannot send', async () => {
  const without = await stage.worker({ relay: false }, { sealer: createSealer(undefined) });
  expect(inLog('worker.cannot_send').at(-1)).toMatchObject({ level: 'error', code: 'config_missing' });
  await without.stop();
});

test('what an endpoint keeps sealed does not come back into ledger or history by a receiver that echoes it', async () => {
  const { id } = await stage.endpoint(receiver.url, { headers: { authorization: 'Bearer s3cret-token-1' } });
  receiver.answer((request) => (response) => response.writeHead(400).end(JSON.stringify(request.headers)));
  const { publication } = await stage.publish();
  expect(await stage.end(id, publication)).toEqual({ failed: 'http_400' });
  const [attempt] = await stage.sql<{ response_text: string }>(
    'SELECT response_text FROM onefold.publication_attempts WHERE publication = $1 AND endpoint = $2',
    [publication, id],
  );
  expect(attempt?.response_text).toContain('[header]');
  const history = JSON.stringify(await stage.handle(id, publication).fetchHistory());
  for (const text of [attempt?.response_text, history, JSON.stringify(stage.lines)]) {
    expect(text).not.toContain('s3cret-token-1');
  }
  expect(Buffer.from(history).includes(Buffer.from('s3cret-token-1').toString('base64').slice(0, 16))).toBe(false);
});
