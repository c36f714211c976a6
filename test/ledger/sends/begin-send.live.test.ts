import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSendStage, type SendStage } from './support/send-stage.js';

let stage: SendStage;
beforeAll(async () => {
  stage = await createSendStage();
});
afterAll(() => stage?.close());

const policy = {
  endpoint: { timeoutMs: null, pausesMs: null, elapsedMs: null },
  publication: { retried: true, pausesMs: null, elapsedMs: null },
};

test('what may be sent is begun: a slot, a row, and all that a request is made of', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint, { state: 'queued' });
  const attemptId = randomUUID();
  const begun = await stage.begun(ref, { attemptId, attempt: 1 });
  expect(begun).toMatchObject({
    policy,
    url: 'https://receiver.example/',
    headers: undefined,
    secrets: [],
    body: '{"type":"order.confirmed"}',
    eventId: `msg_${ref.publication}`,
    type: 'order.confirmed',
    atMostOnce: false,
    version: 1,
    unknownBefore: 0,
  });
  expect(begun.leftMs).toBeGreaterThan(15_500);
  expect(begun.leftMs).toBeLessThanOrEqual(16_000);
  const { delivery, attempts } = await stage.look(ref);
  // The relay has not marked it yet, or never will: what is sent was started.
  expect(delivery).toMatchObject({ state: 'started', attempts: 1, ended_at: null, possible_arrivals: 1 });
  expect(delivery.started_at).not.toBeNull();
  expect(attempts).toMatchObject([{ id: attemptId, run_id: 'run-1', attempt: 1, endpoint_version: '1', ended: null }]);
  expect(await held(endpoint)).toEqual([attemptId]);
});

test('the budget that an endpoint and a type declare comes with it', async () => {
  const endpoint = await stage.endpoint({ timeoutMs: 2_000 });
  await stage.sql(`UPDATE onefold.endpoints SET pauses_ms = '{1000,2592000000}', elapsed_ms = 5000 WHERE id = $1`, [
    endpoint,
  ]);
  const ref = await stage.delivery(endpoint);
  await stage.sql(
    `UPDATE onefold.publications SET retried = false, pauses_ms = '{}', elapsed_ms = 7000 WHERE publication = $1`,
    [ref.publication],
  );
  const begun = await stage.begun(ref);
  expect(begun.policy).toEqual({
    endpoint: { timeoutMs: 2_000, pausesMs: [1_000, 2_592_000_000], elapsedMs: 5_000 },
    publication: { retried: false, pausesMs: [], elapsedMs: 7_000 },
  });
  // The lease is that of the endpoint's own timeout.
  expect(begun.leftMs).toBeLessThanOrEqual(3_000);
});

test('all secrets that have not expired come, the newest first, and the sealed headers', async () => {
  const endpoint = await stage.endpoint();
  const long = Buffer.alloc(300, 0xfe);
  await stage.sql(
    `INSERT INTO onefold.endpoint_secrets (tenant, endpoint, id, sealed, sealed_by, created_at, expires_at) VALUES
       ('', $1, gen_random_uuid(), 'old', 'k1', clock_timestamp() - interval '2 days', clock_timestamp() + interval '1 hour'),
       ('', $1, gen_random_uuid(), $2, 'k2', clock_timestamp() - interval '1 day', NULL),
       ('', $1, gen_random_uuid(), 'gone', 'k1', clock_timestamp() - interval '3 days', clock_timestamp() - interval '1 s'),
       ('other', $1, gen_random_uuid(), 'another tenant', 'k1', clock_timestamp(), NULL)`,
    [endpoint, long],
  );
  await stage.sql(`UPDATE onefold.endpoints SET headers = $2, headers_key = 'k2' WHERE id = $1`, [endpoint, long]);
  const begun = await stage.begun(await stage.delivery(endpoint));
  expect(begun.secrets.map(({ sealed, key }) => [sealed.toString('latin1'), key])).toEqual([
    [long.toString('latin1'), 'k2'],
    ['old', 'k1'],
  ]);
  expect(begun.headers).toEqual({ sealed: long, key: 'k2' });
});

test.each([
  ['delivered', { kind: 'delivered' }],
  ['abandoned', { kind: 'abandoned', by: 'ann', reason: 'no use' }],
])('a delivery that is %s is not sent', async (state, answer) => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint, { state });
  await stage.sql(
    `UPDATE onefold.publication_deliveries SET abandoned_by = 'ann', abandoned_reason = 'no use' WHERE publication = $1`,
    [ref.publication],
  );
  expect(await stage.begin(ref)).toEqual(answer);
  await nothingWritten(ref, endpoint, state);
});

test.each(['paused', 'disabled'])('a delivery to a %s endpoint is held', async (state) => {
  const endpoint = await stage.endpoint({ state });
  const ref = await stage.delivery(endpoint);
  expect(await stage.begin(ref)).toEqual({ kind: 'held', state, policy });
  await nothingWritten(ref, endpoint);
});

test('a delivery to a removed endpoint, or to none, is not sent', async () => {
  const endpoint = await stage.endpoint({ state: 'removed' });
  const ref = await stage.delivery(endpoint);
  expect(await stage.begin(ref)).toEqual({ kind: 'removed' });
  await nothingWritten(ref, endpoint);
  expect(await stage.begin(await stage.delivery('ep_none'))).toEqual({ kind: 'removed' });
});

test('a delivery that the ledger does not have is missing, also where another tenant has it', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  expect(await stage.begin({ ...ref, publication: 'none' })).toEqual({ kind: 'missing' });
  expect(await stage.begin({ ...ref, tenant: 'other' })).toEqual({ kind: 'missing' });
  await nothingWritten(ref, endpoint);
});

test('a reset of a dead-lettered delivery may send, one of a delivered one may not', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint, { state: 'dead_lettered' });
  await stage.sql(`UPDATE onefold.publication_deliveries SET ended_at = clock_timestamp() WHERE publication = $1`, [
    ref.publication,
  ]);
  const begun = await stage.begun(ref, { runId: 'run-2' });
  expect((await stage.look(ref)).delivery).toMatchObject({ state: 'started', ended_at: null });
  await stage.end(ref, begun, { ended: 'delivered' });
  expect(await stage.begin(ref, { runId: 'run-3' })).toEqual({ kind: 'delivered' });
});

test('an attempt without an end is of unknown outcome once its lease is over and the next one begins', async () => {
  const endpoint = await stage.endpoint({ concurrency: 2 });
  const ref = await stage.delivery(endpoint);
  await stage.begun(ref);
  await stage.outlive(ref);
  const second = await stage.begun(ref, { attempt: 2 });
  expect(second.unknownBefore).toBe(1);
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ attempts: 2, possible_arrivals: 2 });
  expect(attempts).toMatchObject([{ ended: 'outcome_unknown', code: 'outcome_unknown' }, { ended: null }]);
  expect(await held(endpoint)).toEqual([second.attemptId]);
});

test('while an attempt is under way no other one begins, and is told when to ask', async () => {
  const endpoint = await stage.endpoint({ timeoutMs: 2_000 });
  const ref = await stage.delivery(endpoint);
  const first = await stage.begun(ref);
  const ticket = { at: new Date(), version: 1 };
  const second = await stage.begin(ref, { ticket });
  expect(second).toMatchObject({ kind: 'limited', by: 'concurrency', ticket });
  expect((second as { waitMs: number }).waitMs).toBeGreaterThan(2_000);
  expect((second as { waitMs: number }).waitMs).toBeLessThanOrEqual(3_000);
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ attempts: 1, possible_arrivals: 1, waiting_since: null });
  expect(attempts).toMatchObject([{ id: first.attemptId, ended: null }]);
  expect(await held(endpoint)).toEqual([first.attemptId]);
  await stage.end(ref, first, { ended: 'retry' });
  expect(await stage.begun(ref)).toMatchObject({ unknownBefore: 0 });
});

test('a replay of what is under way waits for it, and lifts its end after that', async () => {
  const ref = await stage.delivery(await stage.endpoint());
  const first = await stage.begun(ref);
  await stage.sql(`UPDATE onefold.publication_deliveries SET state = 'abandoned' WHERE publication = $1`, [
    ref.publication,
  ]);
  expect(await stage.begin(ref, { replay: 'act-1' })).toMatchObject({ kind: 'limited' });
  expect((await stage.look(ref)).delivery).toMatchObject({ state: 'abandoned', possible_arrivals: 1, replay: null });
  await stage.outlive(ref);
  expect(await stage.begun(ref, { replay: 'act-1' })).toMatchObject({ unknownBefore: 1 });
  expect(first.attemptId).toBeDefined();
});

test('a begin whose answer was lost is answered again: the same row, the same slot, what is left of its lease', async () => {
  const endpoint = await stage.endpoint({ rateLimit: 1 });
  const ref = await stage.delivery(endpoint);
  const { attemptId, leftMs, ...first } = await stage.begun(ref);
  const { leftMs: later, ...again } = (await stage.begin(ref, { attemptId })) as typeof first & { leftMs: number };
  expect(again).toEqual(first);
  expect(later).toBeLessThan(leftMs);
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ attempts: 1, possible_arrivals: 1 });
  expect(attempts).toMatchObject([{ id: attemptId, ended: null }]);
  expect(await held(endpoint)).toEqual([attemptId]);
});

test('so it is where the message must arrive once at most, and where both are on their way at once', async () => {
  const endpoint = await stage.endpoint({ atMostOnce: true });
  const ref = await stage.delivery(endpoint);
  const attemptId = randomUUID();
  const both = await Promise.all(Array.from({ length: 6 }, () => stage.begin(ref, { attemptId })));
  expect(both.map(({ kind }) => kind)).toEqual(Array(6).fill('begun'));
  expect((await stage.look(ref)).attempts).toHaveLength(1);
  expect(await held(endpoint)).toEqual([attemptId]);
});

test('the next statement of the same process finds nothing unknown where the attempt has ended', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  await stage.end(ref, await stage.begun(ref), { ended: 'retry' });
  expect(await stage.begun(ref)).toMatchObject({ unknownBefore: 0 });
});

async function held(endpoint: string): Promise<string[]> {
  const rows = await stage.sql<{ held_by: string }>(
    `SELECT held_by FROM onefold.endpoint_slots WHERE endpoint = $1 AND held_by IS NOT NULL`,
    [endpoint],
  );
  return rows.map(({ held_by }) => held_by).sort();
}

async function nothingWritten(ref: Parameters<SendStage['look']>[0], endpoint: string, state = 'started') {
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ state, attempts: 0, possible_arrivals: 0 });
  expect(attempts).toEqual([]);
  expect(await held(endpoint)).toEqual([]);
}
