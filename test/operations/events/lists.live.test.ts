import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PermanentError } from '../../../src/effects/errors.js';
import { listActs } from '../../../src/operations/acts/list-acts.js';
import { operationsContext } from '../../../src/operations/context.js';
import { countDeadLetters } from '../../../src/operations/dead-letters/count-dead-letters.js';
import { listDeadLetters } from '../../../src/operations/dead-letters/list-dead-letters.js';
import { noteDeadLetter } from '../../../src/operations/dead-letters/note-dead-letter.js';
import { showDeadLetter } from '../../../src/operations/dead-letters/show-dead-letter.js';
import { type EventFilter, listEvents } from '../../../src/operations/events/list-events.js';
import { showEvent } from '../../../src/operations/events/show-event.js';
import { shipmentsTable, shop } from '../../hazards/support/shop.js';
import { until } from '../../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from '../support/stage.js';

const failing = new Set<string>();

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    if (failing.has(event.data.order)) throw new PermanentError(`no shelf for ${event.data.order}`);
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let stage: Stage;
let app: Deployed;

beforeAll(async () => {
  stage = await createStage({ setup: shipmentsTable });
  app = stage.deploy([shipOrder]);
  await app.startWorker();
});
afterAll(() => stage?.close());

const context = () => app.onefold[operationsContext];

async function delivered(id: string): Promise<void> {
  await app.deliver(id);
  await stage.client.workflow
    .getHandle(`event//shop/${id}`)
    .result()
    .catch(() => {});
}

async function deadLettered(): Promise<string> {
  const id = randomUUID();
  failing.add(id);
  await delivered(id);
  failing.delete(id);
  return id;
}

/** Events of a tenant of its own, written as plans write them; every third at the same microsecond. */
async function recorded(many: number): Promise<string> {
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  await stage.sql(
    `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, state, remaining, received_at)
     SELECT $1, 'event/' || $1 || '/shop/evt-' || lpad(n::text, 4, '0'), 'shop', 'evt-' || lpad(n::text, 4, '0'),
            CASE WHEN n % 2 = 0 THEN 'order.paid' ELSE 'order.refunded' END, 'd', '{}',
            CASE WHEN n % 5 = 0 THEN 'open' ELSE 'done' END, 0,
            '2026-02-03T04:05:06.789457Z'::timestamptz + (n / 3) * interval '1 second'
     FROM generate_series(1, $2) AS n`,
    [tenant, many],
  );
  return tenant;
}

async function everyPage(filter: EventFilter): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await listEvents(context(), { ...filter, ...(cursor === undefined ? {} : { cursor }) });
    pages.push(page.items.map(({ id }) => id));
    cursor = page.next;
    if (cursor === undefined) return pages;
  }
}

describe('events', () => {
  test('are listed page by page, each once, whatever comes in meanwhile', async () => {
    const tenant = await recorded(50);
    const first = await listEvents(context(), { tenant, limit: 7 });
    // Newer than the page that was read, so that it belongs to no later one.
    await stage.sql(
      `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, remaining, received_at)
       VALUES ($1, 'event/' || $1 || '/shop/new', 'shop', 'new', 'order.paid', 'd', '{}', 0, now())`,
      [tenant],
    );
    const ids = first.items.map(({ id }) => id);
    for (let { next } = first; next !== undefined; ) {
      const page = await listEvents(context(), { tenant, limit: 7, cursor: next });
      ids.push(...page.items.map(({ id }) => id));
      next = page.next;
    }
    expect(new Set(ids).size).toBe(50);
    expect(ids).toHaveLength(50);
    expect(ids.slice(0, 3)).toEqual(['evt-0048', 'evt-0049', 'evt-0050']);
  });

  test('are filtered by type, state and time, within their tenant', async () => {
    const tenant = await recorded(30);
    const other = await recorded(3);
    expect((await everyPage({ tenant, state: 'open' })).flat()).toEqual([
      'evt-0030',
      'evt-0025',
      'evt-0020',
      'evt-0015',
      'evt-0010',
      'evt-0005',
    ]);
    expect((await everyPage({ tenant, type: 'order.paid', state: 'open' })).flat()).toEqual([
      'evt-0030',
      'evt-0020',
      'evt-0010',
    ]);
    const since = new Date('2026-02-03T04:05:15.000Z');
    expect((await everyPage({ tenant, since })).flat()).toHaveLength(4);
    expect((await everyPage({ tenant: other })).flat()).toHaveLength(3);
    expect((await everyPage({ tenant, source: 'elsewhere' })).flat()).toEqual([]);
  });

  test('have their effects, and are found by business key, effect and code', async () => {
    const done = randomUUID();
    await delivered(done);
    const dead = await deadLettered();
    const byKey = await listEvents(context(), { businessKey: `shipment:${done}` });
    expect(byKey.items).toMatchObject([
      {
        event: `shop/${done}`,
        state: 'done',
        effects: [{ effect: 'ship-order', businessKey: `shipment:${done}`, outcome: 'done' }],
      },
    ]);
    const byCode = await listEvents(context(), { code: 'permanent_error', effect: 'ship-order' });
    expect(byCode.items.map(({ id }) => id)).toContain(dead);
    expect(byCode.items[0]?.effects[0]).not.toHaveProperty('outcome');
    expect((await listEvents(context(), { code: 'budget_spent' })).items).toEqual([]);
  });

  test('that no worker has planned are listed as received, and nothing is known of their effects', async () => {
    await app.stopWorker();
    const id = randomUUID();
    await app.deliver(id);
    const waiting = await until('the row of the delivery', async () => {
      const { items } = await listEvents(context(), { state: 'received' });
      return items.find((event) => event.id === id);
    });
    expect(waiting).toMatchObject({ event: `shop/${id}`, state: 'received', effects: [] });
    expect(await showEvent(context(), { event: `shop/${id}` })).toMatchObject({
      ledger: 'unknown',
      temporal: 'running',
    });
    await expect(listEvents(context(), { state: 'received', type: 'order.paid' })).rejects.toMatchObject({
      code: 'request_invalid',
    });
    await app.startWorker();
    await stage.client.workflow.getHandle(`event//shop/${id}`).result();
    expect((await listEvents(context(), { state: 'received' })).items.map((event) => event.id)).not.toContain(id);
  });

  test('are shown with where they stand, and one that nobody knows is an error', async () => {
    const id = await deadLettered();
    await app.deliver(id);
    await stage.client.workflow.getHandle(`event//shop/${id}`).result();
    const shown = await until('both deliveries', async () => {
      const event = await showEvent(context(), { event: `shop/${id}` });
      return event.deliveries.length === 2 ? event : undefined;
    });
    expect(shown).toMatchObject({
      ledger: 'done',
      temporal: 'completed',
      effects: [{ effect: 'ship-order', state: 'ended', because: 'done' }],
      deliveries: [
        { path: 'first_run', count: 1 },
        { path: 'retry_after_failure', count: 1 },
      ],
    });
    expect(shown).not.toHaveProperty('deadLetter');
    await expect(showEvent(context(), { event: 'shop/nobody' })).rejects.toMatchObject({ code: 'event_unknown' });
  });

  test.each([
    [{ state: 'lost' as never }, 'state: expected one of received'],
    [{ source: '' }, 'source: expected text'],
    [{ since: new Date(Number.NaN) }, 'since: expected a time'],
    [{ limit: 0 }, 'limit: expected a whole number'],
    [{ cursor: 'bm9uZQ' }, 'cursor: expected'],
  ])('a filter that is wrong is refused: %o', async (filter, message) => {
    await expect(listEvents(context(), filter)).rejects.toMatchObject({
      code: 'request_invalid',
      message: expect.stringContaining(message),
    });
  });
});

describe('dead letters', () => {
  test('are listed, counted and shown with the reason of each attempt', async () => {
    const id = await deadLettered();
    const { items } = await listDeadLetters(context(), { source: 'shop', code: 'permanent_error' });
    const letter = items.find(({ name }) => name === `shop/${id}`);
    expect(letter).toMatchObject({ kind: 'event', key: `event//shop/${id}`, occurrences: 1, parked: false });
    expect(await listDeadLetters(context(), { businessKey: `shipment:${id}` })).toMatchObject({
      items: [{ id: letter?.id }],
    });
    expect((await listDeadLetters(context(), { endpoint: 'shop' })).items).toEqual([]);
    const [counted] = await countDeadLetters(context());
    expect(counted).toMatchObject({ kind: 'event', source: 'shop', code: 'permanent_error', parked: 0 });
    expect(await showDeadLetter(context(), `shop/${id}`)).toMatchObject({
      id: letter?.id,
      reasons: [{ effect: 'ship-order', reasons: [{ attempt: 1, message: expect.stringContaining('no shelf') }] }],
      acts: [],
    });
  });

  test('get an owner and a note, by an act that is recorded once', async () => {
    const id = await deadLettered();
    const act = { by: 'ada', reason: 'my turn', id: randomUUID() };
    const noted = await noteDeadLetter(context(), `shop/${id}`, { ...act, owner: 'ada', note: 'asked the warehouse' });
    expect(noted).toMatchObject({ owner: 'ada', note: 'asked the warehouse', acts: [{ kind: 'note', by: 'ada' }] });
    // The same command once more, after somebody else has changed it, changes nothing.
    await noteDeadLetter(context(), noted.id, { by: 'bob', reason: 'took over', owner: 'bob' });
    const again = await noteDeadLetter(context(), noted.id, { ...act, owner: 'ada' });
    expect(again).toMatchObject({ owner: 'bob', note: 'asked the warehouse' });
    expect(again.acts).toHaveLength(2);
    expect((await listDeadLetters(context(), { owner: 'bob' })).items.map((letter) => letter.id)).toEqual([noted.id]);
    const cleared = await noteDeadLetter(context(), noted.id, { by: 'bob', reason: 'done', owner: '', note: '' });
    expect(cleared).not.toHaveProperty('owner');
    expect(cleared).not.toHaveProperty('note');
  });

  test('refuse a note that says nothing, and the id of another act', async () => {
    const id = await deadLettered();
    const other = await deadLettered();
    const act = { by: 'ada', reason: 'r', id: randomUUID() };
    await expect(noteDeadLetter(context(), `shop/${id}`, act)).rejects.toMatchObject({ code: 'note_refused' });
    await noteDeadLetter(context(), `shop/${id}`, { ...act, note: 'n' });
    await expect(noteDeadLetter(context(), `shop/${other}`, { ...act, note: 'n' })).rejects.toMatchObject({
      code: 'note_refused',
    });
    await expect(showDeadLetter(context(), '999999')).rejects.toMatchObject({ code: 'dead_letter_unknown' });
    await expect(showDeadLetter(context(), `shop/${id}`, { tenant: 'acme' })).rejects.toMatchObject({
      code: 'dead_letter_unknown',
    });
  });

  test('close with the effect, and are listed as closed only where asked for', async () => {
    const id = await deadLettered();
    await app.onefold.replay(`shop/${id}`, { by: 'ada', reason: 'there is a shelf' });
    await stage.client.workflow.getHandle(`event//shop/${id}`).result();
    const key = `event//shop/${id}`;
    expect((await listDeadLetters(context(), { key })).items).toEqual([]);
    expect((await listDeadLetters(context(), { key, all: true })).items).toMatchObject([{ closedBy: 'completion' }]);
  });
});

test('acts are listed with who, why, and what was seen, by event, person and kind', async () => {
  const id = await deadLettered();
  const by = `ada-${randomUUID()}`;
  await app.onefold.replay(`shop/${id}`, { by, reason: 'there is a shelf' });
  await noteDeadLetter(context(), `shop/${id}`, { by, reason: 'for the record', note: 'n' });
  const { items } = await listActs(context(), { by });
  expect(items).toMatchObject([
    { kind: 'note', about: `event//shop/${id}`, outcome: 'noted' },
    { kind: 'replay', about: `event//shop/${id}`, reason: 'there is a shelf', outcome: 'started' },
  ]);
  expect(items[1]?.seen).toMatchObject({ state: { ledger: 'dead_lettered' } });
  expect((await listActs(context(), { about: `shop/${id}`, kind: 'replay' })).items).toHaveLength(1);
  expect((await listActs(context(), { about: `shop/${id}`, tenant: 'acme' })).items).toEqual([]);
  const page = await listActs(context(), { by, limit: 1 });
  const rest = await listActs(context(), { by, limit: 1, ...(page.next ? { cursor: page.next } : {}) });
  expect(rest.items.map(({ kind }) => kind)).toEqual(['replay']);
  await expect(listActs(context(), { kind: 'guess' as never })).rejects.toMatchObject({ code: 'request_invalid' });
});
