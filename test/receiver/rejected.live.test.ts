import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertRejections, samplesPerHour } from '../../src/ledger/rejected/insert-rejections.js';
import { createRejectionRecorder } from '../../src/ledger/rejected/record-rejections.js';
import type { RejectedRequest } from '../../src/ledger/rejected/rejection.js';
import { countRejected } from '../../src/operations/rejected/count-rejected.js';
import { listRejected } from '../../src/operations/rejected/list-rejected.js';
import { showRejected } from '../../src/operations/rejected/show-rejected.js';
import { createMetrics } from '../../src/runtime/metrics.js';
import { createSealer } from '../../src/runtime/seal.js';
import { sha256 } from '../../src/runtime/sha256.js';
import { captureLog } from './support/captured-log.js';
import { createHarness, type ReceiverHarness } from './support/receiver-harness.js';
import { secret, shop, signed } from './support/sources.js';

let harness: ReceiverHarness;
const sealer = createSealer(`k1:${randomBytes(32).toString('base64')}`);

beforeAll(async () => {
  harness = await createHarness();
});
afterAll(() => harness.close());

const named = () => `shop-${randomUUID().slice(0, 8)}`;
const sql = async (text: string, values: readonly unknown[] = []) =>
  (await harness.ledger.database.query<Record<string, any>>(text, values)).rows;

test('a refused request leaves a sample and is counted, with its reason, network and digest', async () => {
  const name = named();
  const one = shop(name);
  const { send, receiver } = await harness.open({ sources: [one] });
  const { headers } = signed(one.source, 'evt_1');
  const body = Buffer.from('{"type":"order.paid","changed":true}');
  const answer = await send(
    name,
    { headers, body },
    { 'user-agent': 'curl/8', 'content-type': 'application/json; a=b' },
  );
  expect(answer.status).toBe(401);
  await receiver.drain();

  const { items } = await listRejected(harness, { source: name });
  expect(items).toHaveLength(1);
  expect(items[0]).toMatchObject({
    source: name,
    code: 'signature_mismatch',
    reason: 'signature_mismatch',
    status: 401,
    method: 'POST',
    network: '127.0.0.0/24',
    digest: sha256(body),
    bytes: body.length,
  });
  expect(items[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(body.length),
    'user-agent': 'curl/8',
    'webhook-id': null,
    'webhook-signature': null,
    host: null,
  });
  expect(items[0]).not.toHaveProperty('bodyUntil');
  expect(await countRejected(harness, { source: name })).toMatchObject([
    { source: name, code: 'signature_mismatch', reason: 'signature_mismatch', count: 1, sampled: 1 },
  ]);
});

test('secrets planted in headers, query, path and body stand in no table and in no log line', async () => {
  const name = named();
  const one = shop(name, { rejected: { keepBody: true } });
  const { http, lines, receiver } = await harness.open({ sources: [one], sealer });
  const planted = randomUUID();
  const headers = {
    authorization: `Bearer ${planted}`,
    cookie: `session=${planted}`,
    'x-api-key': planted,
    'webhook-id': planted,
    'webhook-timestamp': '1',
    'webhook-signature': `v1,${planted}`,
    'content-type': `application/json; token=${planted}`,
    'x-forwarded-for': planted,
  };
  const post = (path: string) =>
    fetch(`${http.url}/${path}`, { method: 'POST', headers, body: `{"password":"${planted}"}` });
  await post(name);
  await post(`${name}?token=${planted}`);
  await post(planted);
  await receiver.drain();
  expect(await countRejected(harness, { source: name })).toHaveLength(1);
  const { items } = await listRejected(harness, { source: name });
  expect(items[0]?.bodyUntil).toBeInstanceOf(Date);
  const rows = await sql(
    `SELECT r::text AS row FROM onefold.rejected_requests r UNION ALL SELECT c::text FROM onefold.rejected_counts c
     UNION ALL SELECT d::text FROM onefold.deliveries d`,
  );
  expect(rows.length).toBeGreaterThan(3);
  const hex = Buffer.from(planted).toString('hex');
  for (const { row } of rows) {
    expect(row).not.toContain(planted);
    expect(row).not.toContain(hex);
  }
  expect(JSON.stringify(lines)).not.toContain(planted);
  expect(JSON.stringify(lines)).not.toContain(secret);
});

test('a body is kept only where the source asks, opens with the key alone, and a line says who looked', async () => {
  const [plain, keeping] = [shop(named()), shop(named(), { rejected: { keepBody: true } })];
  const { send, receiver } = await harness.open({ sources: [plain, keeping], sealer });
  const body = Buffer.from('{"not":"signed"}');
  for (const { source } of [plain, keeping])
    await send(source.name, { headers: {}, body }, { 'content-type': 'application/json' });
  await receiver.drain();
  const { log, lines } = captureLog();
  const context = { ledger: harness.ledger, sealer, log };
  const [without] = (await listRejected(harness, { source: plain.source.name })).items;
  const [kept] = (await listRejected(harness, { source: keeping.source.name })).items;

  expect((await showRejected(context, kept!.id)).body).toBeUndefined();
  expect(lines).toEqual([]);
  expect((await showRejected(context, kept!.id, { by: 'alice' })).body).toEqual(body);
  expect(lines).toMatchObject([{ msg: 'rejected.body_shown', by: 'alice', sample: kept!.id }]);
  await expect(showRejected(context, without!.id, { by: 'alice' })).rejects.toMatchObject({ code: 'rejected_unknown' });
  const other = createSealer(`k1:${randomBytes(32).toString('base64')}`);
  await expect(showRejected({ ...context, sealer: other }, kept!.id, { by: 'a' })).rejects.toMatchObject({
    code: 'secret_unreadable',
  });
  const [row] = await sql('SELECT body_until - received_at AS kept FROM onefold.rejected_requests WHERE id = $1', [
    kept!.id,
  ]);
  expect(row?.kept).toMatchObject({ days: 1 });
  await sql(`UPDATE onefold.rejected_requests SET body_until = now() WHERE id = $1`, [kept!.id]);
  await expect(showRejected(context, kept!.id, { by: 'alice' })).rejects.toMatchObject({ code: 'rejected_unknown' });
});

test('without keys no body is kept, which is warned of once, and the samples stand', async () => {
  const one = shop(named(), { rejected: { keepBody: true } });
  const { send, receiver, lines } = await harness.open({ sources: [one], sealer: createSealer(undefined) });
  for (let count = 0; count < 3; count++) await send(one.source.name, { headers: {}, body: Buffer.from('{}') });
  await receiver.drain();
  expect(lines.filter(({ msg }) => msg === 'rejected.body_not_kept')).toHaveLength(1);
  const { items } = await listRejected(harness, { source: one.source.name });
  expect(items).toHaveLength(3);
  expect(items[0]).not.toHaveProperty('bodyUntil');
});

test('of a body that is cut off the digest is that of what was read, and a large one is kept in part', async () => {
  const one = shop(named(), { rejected: { keepBody: true }, bodyLimitBytes: 100 * 1024 });
  const { http, send, receiver } = await harness.open({ sources: [one], sealer });
  const large = randomBytes(60 * 1024);
  await send(one.source.name, { headers: {}, body: large });
  const url = new URL(http.url);
  const socket = connect(Number(url.port), url.hostname);
  socket.end(
    `POST /in/${one.source.name} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"part":`,
  );
  socket.resume();
  await once(socket, 'close');
  await receiver.drain();
  const { items } = await listRejected(harness, { source: one.source.name });
  const [cut, whole] = items;
  expect(cut).toMatchObject({
    code: 'body_malformed',
    reason: 'aborted',
    bytes: 8,
    digest: sha256(Buffer.from('{"part":')),
  });
  expect(whole).toMatchObject({ bytes: large.length, digest: sha256(large) });
  const { body } = await showRejected({ ledger: harness.ledger, sealer, log: captureLog().log }, whole!.id, {
    by: 'a',
  });
  expect(body).toEqual(large.subarray(0, 32 * 1024));
});

test('what has an event is no rejected request: its delivery row says it', async () => {
  const one = shop(named(), { refuseOtherBody: true });
  const { send, receiver } = await harness.open({ sources: [one] });
  const id = randomUUID();
  await send(one.source.name, signed(one.source, id, { data: 1 }));
  expect((await send(one.source.name, signed(one.source, id, { data: 2 }))).status).toBe(422);
  await receiver.drain();
  expect(await countRejected(harness, { source: one.source.name })).toEqual([]);
});

test('a flood grows the ledger by a bounded number of rows, and every request is counted', async () => {
  const one = shop(named());
  const { receiver } = await harness.open({ sources: [one] });
  const flood = 50_000;
  const answer = (path: string) =>
    receiver.handle({
      method: 'POST',
      path,
      url: `http://receiver.example${path}`,
      headers: { 'content-type': 'application/json', 'user-agent': 'x'.repeat(8_000), [`x-${'y'.repeat(5_000)}`]: 'z' },
      body: { kind: 'kept', bytes: Buffer.from('{}') },
    });
  const before = await bytesOfLedger();
  for (let sent = 0; sent < flood; sent += 1_000) {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => answer(index % 2 ? `/${one.source.name}` : `/${randomUUID()}`)),
    );
  }
  await receiver.drain();
  const totals = await countRejected(harness, {});
  const of = (source: string) => totals.filter((total) => total.source === source);
  expect(of(one.source.name)).toMatchObject([{ code: 'signature_missing', count: flood / 2, sampled: 10 }]);
  expect(of('(unknown)')[0]?.count).toBeGreaterThanOrEqual(flood / 2);
  // A million would add counts of further hours, and the delivery rows of further minutes: at most 1,000 an hour and source.
  expect((await bytesOfLedger()) - before).toBeLessThan(1024 * 1024);
}, 120_000);

/** Vacuumed, as it is in the long run. */
async function bytesOfLedger(): Promise<number> {
  for (const table of ['rejected_requests', 'rejected_counts', 'deliveries']) await sql(`VACUUM onefold.${table}`);
  const [row] = await sql(
    `SELECT sum(pg_total_relation_size(c.oid))::int AS bytes FROM pg_class c
     WHERE c.relnamespace = 'onefold'::regnamespace AND c.relkind = 'r'`,
  );
  return row?.bytes;
}

function sampleOf(source: string): RejectedRequest {
  return {
    source,
    code: 'signature_mismatch',
    reason: '',
    status: 401,
    method: 'POST',
    headers: '{}',
    network: null,
    digest: null,
    bytes: null,
    receivedAt: new Date('2026-02-03T04:59:59.999Z'),
    body: null,
  };
}

test('of one source and hour the ledger keeps 100 samples, whatever the number of processes', async () => {
  const source = named();
  const processes = Array.from({ length: 15 }, () =>
    createRejectionRecorder({ ledger: harness.ledger, metrics: createMetrics(), log: captureLog().log }),
  );
  for (const { record } of processes) {
    for (let count = 0; count < 60; count++) {
      record({ ...sampleOf(source), code: `code_${count % 3}` }, () => ({
        ...sampleOf(source),
        code: `code_${count % 3}`,
      }));
    }
  }
  await Promise.all(processes.map(({ close }) => close()));
  const rows = await sql('SELECT 1 FROM onefold.rejected_requests WHERE source = $1', [source]);
  expect(rows).toHaveLength(samplesPerHour);
  const totals = await countRejected(harness, { source });
  expect(totals.reduce((sum, { count }) => sum + count, 0)).toBe(900);
  expect(totals.reduce((sum, { sampled }) => sum + sampled, 0)).toBe(samplesPerHour);
});

test('the next hour has room again, and other sources have their own', async () => {
  const [source, other] = [named(), named()];
  const { query } = harness.ledger.database;
  const full = Array.from({ length: samplesPerHour + 5 }, () => sampleOf(source));
  const later = { ...sampleOf(source), receivedAt: new Date('2026-02-03T05:00:00Z') };
  await insertRejections(query, harness.ledger.schema, [], full);
  await insertRejections(query, harness.ledger.schema, [], [sampleOf(source), later, sampleOf(other)]);
  const counted = await sql(
    'SELECT source, count(*)::int AS n FROM onefold.rejected_requests WHERE source = ANY($1) GROUP BY source',
    [[source, other]],
  );
  expect(Object.fromEntries(counted.map(({ source: name, n }) => [name, n]))).toEqual({
    [source]: samplesPerHour + 1,
    [other]: 1,
  });
});

test('with PostgreSQL away answers are not held up, and what was not written is counted as lost', async () => {
  const one = shop(named());
  const { database } = harness.ledger;
  const away = { ...harness.ledger, database: { ...database, transaction: () => new Promise<never>(() => undefined) } };
  const { send, receiver, metrics, lines } = await harness.open({ sources: [one], ledger: away });
  const began = performance.now();
  for (let count = 0; count < 5; count++) await send(one.source.name, { headers: {}, body: Buffer.from('{}') });
  expect(performance.now() - began).toBeLessThan(1_000);
  await receiver.drain();
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'rejected.not_written', requests: 5 }));
  expect((await metrics.evidenceLost.get()).values[0]?.value).toBeGreaterThanOrEqual(5);
});

test('pages follow each other without a gap, and a cursor of another list is refused', async () => {
  const source = named();
  const samples = Array.from({ length: 7 }, () => sampleOf(source));
  await insertRejections(harness.ledger.database.query, harness.ledger.schema, [], samples);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await listRejected(harness, { source, limit: 3, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...page.items.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== undefined);
  expect(new Set(seen).size).toBe(7);
  await expect(listRejected(harness, { cursor: 'nonsense' })).rejects.toMatchObject({ code: 'request_invalid' });
  await expect(listRejected(harness, { since: new Date('x') })).rejects.toMatchObject({ code: 'request_invalid' });
  await expect(listRejected(harness, { nonsense: 1 } as never)).rejects.toMatchObject({ code: 'config_invalid' });
});
