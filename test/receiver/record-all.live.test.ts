import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPayload } from '../../src/ledger/read-payload.js';
import { recordPlan } from '../../src/ledger/record-plan.js';
import { writeDeadLetter } from '../../src/ledger/write-dead-letter.js';
import { sha256 } from '../../src/runtime/sha256.js';
import { adoptedDigest, isProcessEventInput, unknownDigest } from '../../src/workflows/contract.js';
import { createHarness, type ReceiverHarness } from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';

let harness: ReceiverHarness;
const all = shop('all', { record: 'all' });
const subscribed = shop('subscribed');

beforeAll(async () => {
  harness = await createHarness();
});
afterAll(() => harness.close());

const eventsOf = async (eventKey: string) =>
  (
    await harness.ledger.database.query<Record<string, any>>(
      'SELECT state, type, digest, input, remaining, event_id, received_at FROM onefold.events WHERE event_key = $1',
      [eventKey],
    )
  ).rows;

test('an event that no effect subscribes to is recorded with its body before it is answered, where the source records all', async () => {
  const { send, lines } = await harness.open({ sources: [all, subscribed] });
  const id = randomUUID();
  const sent = signed(all.source, id, { type: 'order.seen', data: { amount: 1.5 } });
  expect(await send('all', sent)).toMatchObject({ status: 200, json: { event: `all/${id}`, path: 'ignored' } });
  const [event, ...others] = await eventsOf(`event//all/${id}`);
  expect(others).toEqual([]);
  const digest = sha256(sent.body);
  expect(event).toMatchObject({ state: 'ignored', type: 'order.seen', digest, remaining: 0, event_id: id });
  const input = JSON.parse(event?.input);
  expect(isProcessEventInput(input)).toBe(true);
  expect(input).toMatchObject({ id, source: 'all', effects: [], payload: { stored: true } });
  const { database, schema } = harness.ledger;
  const body = await readPayload(database.query, schema, { tenant: '', eventKey: `event//all/${id}`, digest });
  expect(Buffer.from(body as Uint8Array)).toEqual(sent.body);
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'webhook.claim', path: 'ignored', bodyDiffers: false }));

  expect((await send('subscribed', signed(subscribed.source, id, { type: 'order.seen' }))).status).toBe(200);
  expect(await eventsOf(`event//subscribed/${id}`)).toEqual([]);
});

test('a duplicate of an ignored event changes nothing, and another body is noticed', async () => {
  const { send, lines } = await harness.open({ sources: [all] });
  const id = randomUUID();
  await send('all', signed(all.source, id, { type: 'order.seen', data: 1 }));
  const before = await eventsOf(`event//all/${id}`);
  await Promise.all([1, 2].map((data) => send('all', signed(all.source, id, { type: 'order.seen', data }))));
  expect(await eventsOf(`event//all/${id}`)).toEqual(before);
  const differing = lines.filter(({ bodyDiffers }) => bodyDiffers === true);
  expect(differing).toMatchObject([{ path: 'ignored', status: 200, event: `all/${id}` }]);
});

test('of an event that was done before, and whose body nobody had, an ignored delivery brings the body', async () => {
  const { send, lines } = await harness.open({ sources: [all] });
  const id = randomUUID();
  const eventKey = `event//all/${id}`;
  await harness.ledger.database.query(
    `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, state, remaining, received_at)
     VALUES ('', $1, 'all', $2, 'order.paid', $3, '{}', 'done', 0, now())`,
    [eventKey, id, adoptedDigest],
  );
  const sent = signed(all.source, id, { type: 'order.seen' });
  await send('all', sent);
  const digest = sha256(sent.body);
  expect(await eventsOf(eventKey)).toMatchObject([{ state: 'done', type: 'order.seen', digest }]);
  const { database, schema } = harness.ledger;
  expect(await readPayload(database.query, schema, { tenant: '', eventKey, digest })).toBeDefined();
  expect(lines.filter(({ bodyDiffers }) => bodyDiffers === true)).toEqual([]);
});

test('deliveries of one ignored event at once are all answered, and leave one row', async () => {
  const { send } = await harness.open({ sources: [all] });
  const id = randomUUID();
  const one = signed(all.source, id, { type: 'order.seen' });
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('all', one)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await eventsOf(`event//all/${id}`)).toHaveLength(1);
});

test('with PostgreSQL away an event to be recorded is 503, and one that an effect takes, or that is not recorded, is not', async () => {
  const { database } = harness.ledger;
  const away = { ...harness.ledger, database: { ...database, transaction: () => Promise.reject(new Error('away')) } };
  const { send } = await harness.open({ sources: [all, subscribed], ledger: away });
  const seen = { type: 'order.seen' };
  expect(await send('all', signed(all.source, randomUUID(), seen))).toMatchObject({
    status: 503,
    json: { code: 'ledger_unavailable' },
  });
  expect((await send('all', signed(all.source, randomUUID()))).status).toBe(202);
  expect((await send('subscribed', signed(subscribed.source, randomUUID(), seen))).status).toBe(200);
});

test('a PostgreSQL that never answers holds such an event for a bounded time', async () => {
  const { database } = harness.ledger;
  const stuck = {
    ...harness.ledger,
    database: { ...database, transaction: () => new Promise<never>(() => undefined) },
  };
  const { send } = await harness.open({ sources: [all], ledger: stuck });
  const began = performance.now();
  expect((await send('all', signed(all.source, randomUUID(), { type: 'order.seen' }))).status).toBe(503);
  expect(performance.now() - began).toBeLessThan(2_000);
});

test('the first plan of the event takes the ignored row over, and an ignored delivery after it changes nothing', async () => {
  const { send } = await harness.open({ sources: [all] });
  const id = randomUUID();
  const sent = signed(all.source, id, { type: 'order.seen' });
  await send('all', sent);
  const { database, schema } = harness.ledger;
  const eventKey = `event//all/${id}`;
  const recorded = await recordPlan(database.query, schema, {
    tenant: '',
    eventKey,
    source: 'all',
    id,
    type: 'order.seen',
    digest: sha256(sent.body),
    input: '{}',
    receivedAt: new Date().toISOString(),
    body: sent.body,
    effects: [{ effect: 'note-order', businessKey: id }],
  });
  expect(recorded).toBe(true);
  await send('all', sent);
  expect(await eventsOf(eventKey)).toMatchObject([{ state: 'open', remaining: 1 }]);
});

test('a run that ended before its plan takes the ignored row over too, and one with a malformed input does not', async () => {
  const { send } = await harness.open({ sources: [all] });
  const id = randomUUID();
  const sent = signed(all.source, id, { type: 'order.seen' });
  await send('all', sent);
  const { database, schema } = harness.ledger;
  const eventKey = `event//all/${id}`;
  const letter = (digest: string, input: string) =>
    writeDeadLetter(database.query, schema, {
      tenant: '',
      eventKey,
      source: 'all',
      id,
      type: 'order.seen',
      digest,
      receivedAt: new Date().toISOString(),
      code: 'terminated',
      message: '',
      input,
      effects: '[]',
      runId: randomUUID(),
      body: undefined,
    });
  const [ignored] = await eventsOf(eventKey);
  await letter(unknownDigest, '{}');
  expect(await eventsOf(eventKey)).toMatchObject([{ state: 'dead_lettered', input: ignored?.input }]);
  await database.query(`UPDATE onefold.events SET state = 'ignored' WHERE event_key = $1`, [eventKey]);
  await letter(sha256(sent.body), '{"effects":["note-order"]}');
  expect(await eventsOf(eventKey)).toMatchObject([{ state: 'dead_lettered', input: '{"effects":["note-order"]}' }]);
});
