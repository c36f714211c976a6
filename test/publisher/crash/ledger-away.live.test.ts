import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';
import { type CutOff, startCutOffWorker } from './support/cut-off-worker.js';
import { readHistory } from './support/delivery-history.js';

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
beforeEach(async () => {
  receiver = await startScriptedReceiver();
  stage = await createDeliveryStage({ worker: false });
});
afterEach(async () => {
  await stage?.close();
  await receiver?.close();
});

const rowsOf = (publication: string) =>
  stage.sql('SELECT ended, status, code FROM onefold.publication_attempts WHERE publication = $1 ORDER BY started_at', [
    publication,
  ]);
const logged = (word: string) => until(`the log to say ${word}`, () => stage.lines.some(({ msg }) => msg === word));

test.each<[string, CutOff['by'], string]>([
  ['gone', 'refuse', '2 seconds'],
  ['silent', 'silent', '2 seconds'],
])(
  'a 2xx that comes while PostgreSQL is %s is not asked for again, and is written when it is back',
  async (_, by, timeout) => {
    const { id } = await stage.endpoint(receiver.url, { timeout });
    const proxy = await startCutOffWorker(stage, { at: 'after_exchange', by });
    const { publication, eventId } = await stage.publish();
    await logged('delivery.unrecorded');
    expect(await rowsOf(publication)).toEqual([{ ended: null, status: null, code: null }]);
    await proxy.become('up');
    expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 1, status: 200 });
    expect(receiver.of(eventId)).toHaveLength(1);
    expect(await rowsOf(publication)).toEqual([{ ended: 'delivered', status: 200, code: null }]);
    expect(await stage.row(id, publication)).toMatchObject({ state: 'delivered', attempts: 1, last_status: 200 });
    expect(await readHistory(stage.handle(id, publication))).toMatchObject({ sends: 1, recordings: 1 });
  },
);

test('a failure that comes while PostgreSQL is away is written before the next attempt begins', async () => {
  const { id } = await stage.endpoint(receiver.url, { timeout: '2 seconds' });
  receiver.answer((_request, nth) => (nth === 1 ? 503 : 200));
  const proxy = await startCutOffWorker(stage, { at: 'after_exchange', by: 'refuse' });
  const { publication, eventId } = await stage.publish();
  await logged('delivery.unrecorded');
  await proxy.become('up');
  expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 2 });
  expect(receiver.of(eventId)).toHaveLength(2);
  expect(await rowsOf(publication)).toEqual([
    { ended: 'retry', status: 503, code: 'http_503' },
    { ended: 'delivered', status: 200, code: null },
  ]);
  expect(stage.lines.filter(({ msg }) => msg === 'delivery.outcome_unknown')).toEqual([]);
});

test('while PostgreSQL is away before an attempt, nothing is sent and nothing is spent', async () => {
  const { id } = await stage.endpoint(receiver.url, { timeout: '2 seconds', schedule: [] });
  const proxy = await startCutOffWorker(stage, { at: 'before_begin', by: 'refuse' });
  const { publication, eventId } = await stage.publish(`order:${randomUUID()}`);
  await until(
    'it waits',
    async () => (await readHistory(stage.handle(id, publication)).catch(() => undefined))?.waits[0],
  );
  expect(receiver.requests).toHaveLength(0);
  await proxy.become('up');
  expect(await stage.end(id, publication)).toMatchObject({ outcome: 'delivered', attempts: 1 });
  expect(receiver.of(eventId)).toHaveLength(1);
});
