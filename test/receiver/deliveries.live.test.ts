import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDeliveryRecorder, type DeliveryRow } from '../../src/ledger/record-deliveries.js';
import { createMetrics } from '../../src/runtime/metrics.js';
import { captureLog } from './support/captured-log.js';
import { createHarness, type ReceiverHarness } from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';

let harness: ReceiverHarness;
const { source, effects } = shop();

beforeAll(async () => {
  harness = await createHarness();
});

afterAll(() => harness.close());

async function rowsOf(column: 'event_key' | 'source', value: string): Promise<Record<string, unknown>[]> {
  const { rows } = await harness.ledger.database.query(
    `SELECT source, event_key, path, code, status, digest, body_differs, tenant FROM onefold.deliveries
     WHERE ${column} = $1 ORDER BY id`,
    [value],
  );
  return rows;
}

function row(eventKey: string | null, name = 'shop'): DeliveryRow {
  const refused = eventKey === null;
  return {
    tenant: '',
    source: name,
    eventKey,
    path: refused ? null : 'duplicate_done',
    code: refused ? 'signature_mismatch' : null,
    status: refused ? 401 : 200,
    digest: null,
    bodyDiffers: false,
    receivedAt: new Date(),
  };
}

function recorder(ledger = harness.ledger) {
  const metrics = createMetrics();
  const { log, lines } = captureLog();
  const made = createDeliveryRecorder({ ledger, metrics, log });
  const lost = async () => (await metrics.evidenceLost.get()).values[0]?.value ?? 0;
  return { ...made, lines, lost };
}

test('accepted, duplicate, differing and refused deliveries each leave a row, in order', async () => {
  const { send, receiver } = await harness.open({ sources: [{ source, effects }] });
  const id = randomUUID();
  const one = signed(source, id, { data: { n: 1 } });
  await send('shop', one);
  await send('shop', one);
  await send('shop', signed(source, id, { data: { n: 2 } }));
  await send('shop', { ...one, body: Buffer.from('{"type":"order.paid","data":{}}') });
  await receiver.drain();
  const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
  const common = { source: 'shop', event_key: `event//shop/${id}`, tenant: '', code: null, status: 202, digest };
  expect(await rowsOf('event_key', `event//shop/${id}`)).toEqual([
    { ...common, path: 'first_run', body_differs: false },
    { ...common, path: 'in_progress_elsewhere', body_differs: false },
    { ...common, path: 'in_progress_elsewhere', body_differs: true },
  ]);
  expect(await rowsOf('source', 'shop')).toContainEqual(
    expect.objectContaining({ event_key: null, path: null, code: 'signature_mismatch', status: 401 }),
  );
});

test('an ignored delivery leaves a row only where the source records all, and a workflow in neither', async () => {
  const all = shop('all', { record: 'all' });
  const { send, receiver } = await harness.open({ sources: [{ source, effects }, all] });
  const id = randomUUID();
  await send('shop', signed(source, id, { type: 'order.seen' }));
  await send('all', signed(all.source, id, { type: 'order.seen' }));
  await receiver.drain();
  expect(await rowsOf('event_key', `event//shop/${id}`)).toEqual([]);
  expect(await rowsOf('event_key', `event//all/${id}`)).toMatchObject([{ path: 'ignored', status: 200 }]);
  await expect(harness.temporal.client.workflow.getHandle(`event//all/${id}`).describe()).rejects.toThrow();
});

test('an unknown source leaves a row under one name, whatever the path says', async () => {
  const { send, receiver } = await harness.open({ sources: [{ source, effects }] });
  for (const name of ['a', 'b%00', '%E0%A4%A', '..%2f'])
    expect((await send(name, signed(source, 'x'))).status).toBe(404);
  await receiver.drain();
  expect(await rowsOf('source', '(unknown)')).toHaveLength(4);
});

test('a flood on one event keeps 1,000 rows, and other events of the same batch keep theirs', async () => {
  const key = `event//shop/${randomUUID()}`;
  const other = `event//shop/${randomUUID()}`;
  const { record, flush, lost } = recorder();
  for (let count = 0; count < 2_400; count++) {
    record(row(key));
    if (count % 600 === 0) record(row(other));
  }
  await flush();
  expect(await rowsOf('event_key', key)).toHaveLength(1_000);
  expect(await rowsOf('event_key', other)).toHaveLength(4);
  expect(await lost()).toBe(0);
});

test('refusals without an event keep 100 rows per minute and source', async () => {
  const { record, flush } = recorder();
  for (let count = 0; count < 300; count++) {
    record(row(null, 'flooded'));
    if (count < 50) record(row(null, 'calm'));
  }
  await flush();
  expect(await rowsOf('source', 'flooded')).toHaveLength(100);
  expect(await rowsOf('source', 'calm')).toHaveLength(50);
});

test('rows are written without a flush, within half a second', async () => {
  const key = `event//shop/${randomUUID()}`;
  recorder().record(row(key));
  await expect.poll(async () => (await rowsOf('event_key', key)).length, { timeout: 2_000 }).toBe(1);
});

test('with PostgreSQL away rows are given up after bounded tries, and counted', async () => {
  let tries = 0;
  const transaction = () => {
    tries++;
    return Promise.reject(new Error('away'));
  };
  const { record, flush, lost, lines } = recorder({
    ...harness.ledger,
    database: { ...harness.ledger.database, transaction },
  });
  for (let count = 0; count < 10; count++) record(row('k'));
  await flush();
  expect(tries).toBe(4);
  expect(await lost()).toBe(10);
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'deliveries.not_written', rows: 10 }));
});

test('a PostgreSQL that comes back within the tries loses nothing', async () => {
  let tries = 0;
  const { database } = harness.ledger;
  const transaction: typeof database.transaction = (work, limits) =>
    ++tries < 3 ? Promise.reject(new Error('away')) : database.transaction(work, limits);
  const key = `event//shop/${randomUUID()}`;
  const { record, flush, lost } = recorder({ ...harness.ledger, database: { ...database, transaction } });
  record(row(key));
  await flush();
  expect(await rowsOf('event_key', key)).toHaveLength(1);
  expect(await lost()).toBe(0);
});

test('the buffer is bounded, and what does not fit is counted', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { database } = harness.ledger;
  const transaction: typeof database.transaction = async (work) => {
    await held;
    return work(undefined, async () => ({ rows: [], rowCount: 0 }));
  };
  const { record, flush, lost } = recorder({ ...harness.ledger, database: { ...database, transaction } });
  for (let count = 0; count < 11_000; count++) record(row(`k${count}`));
  // One batch has left the buffer and stands in the held transaction.
  expect(await lost()).toBe(500);
  release();
  await flush();
});

test('a PostgreSQL that never answers does not hold a closing process', async () => {
  const transaction = () => new Promise<never>(() => undefined);
  const { record, close, lost } = recorder({
    ...harness.ledger,
    database: { ...harness.ledger.database, transaction },
  });
  for (let count = 0; count < 700; count++) record(row('k'));
  const begun = performance.now();
  await close();
  expect(performance.now() - begun).toBeLessThan(6_500);
  expect(await lost()).toBe(700);
  record(row('k'));
  expect(await lost()).toBe(701);
});
