import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PgTransaction } from '../../src/ledger/pg-database.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { until } from '../hazards/support/until.js';
import { createHarness, type Harness, resultOf, type TestEvent } from '../setup/harness.js';
import { readCase } from '../sources/read-case.js';

const known = readCase('unique-violation-inside-a-transaction');
const std = standardWebhooks('std', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.confirmed': types<{ order: string }>() },
});
/** What the effect of each variant does with its second row, which is there already. */
let second: (tx: PgTransaction, order: string) => Promise<unknown>;
const insert = 'INSERT INTO lines (order_id, line) VALUES ($1, 1)';
const book = std.effect('book-order', {
  on: 'order.confirmed',
  businessKey: ({ data }) => `order:${data.order}`,
  retry: { initialInterval: 50, maximumInterval: 100, maximumAttempts: 2 },
  commit: async ({ event: { data }, tx }) => {
    await tx.query(insert, [data.order]);
    await second(tx, data.order);
    return { booked: data.order };
  },
});

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness(
    { sources: [std], effects: [book] },
    { setup: 'CREATE TABLE lines (order_id text, line int, PRIMARY KEY (order_id, line))' },
  );
});
afterAll(() => harness.close());
beforeEach(() => {
  second = async () => {};
});

/** The event of the case, with an order and an identity of its own. */
function confirmed(order: string): TestEvent {
  const [request] = known.given.requests as { body: { text: string } }[];
  const body = JSON.parse(request?.body.text ?? '{}');
  return {
    source: 'std',
    id: randomUUID(),
    type: body.type,
    effects: ['book-order'],
    body: { ...body, data: { ...body.data, order } },
  };
}
const rows = async (order: string) => (await harness.sql('SELECT 1 FROM lines WHERE order_id = $1', [order])).length;
const ledger = async (order: string) =>
  (await harness.sql('SELECT state FROM onefold.effects WHERE business_key = $1', [`order:${order}`])).map(
    ({ state }) => state,
  );

describe('case unique-violation-inside-a-transaction', () => {
  test('where another event has completed the key, the event ends with its stored result, and no statement fails', async () => {
    const order = randomUUID();
    await resultOf(await harness.start(confirmed(order)));
    const event = confirmed(order);
    const result = await resultOf(await harness.start(event));
    expect(result).toMatchObject({
      outcome: known.expect.outcome?.toString().split(',')[0],
      effects: [{ attempts: 1, result: { json: JSON.stringify({ booked: order }) } }],
    });
    expect(await rows(order)).toBe(1);
    expect(await harness.sql('SELECT 1 FROM onefold.dead_letters WHERE event_id = $1', [event.id])).toEqual([]);
  });

  test('variant user-code-swallows-its-own-23505: never done; the dead letter says why, and nothing is there', async () => {
    second = (tx, order) => tx.query(insert, [order]).catch(() => {});
    const order = randomUUID();
    const event = confirmed(order);
    await expect(resultOf(await harness.start(event))).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/an error was caught inside the effect, so PostgreSQL rolled/) },
    });
    expect([await rows(order), await ledger(order)]).toEqual([0, []]);
    const letters = await until('the dead letter', async () => {
      const found = await harness.sql('SELECT message FROM onefold.dead_letters WHERE event_id = $1', [event.id]);
      return found.length > 0 && found;
    });
    expect(letters[0]?.message).toMatch(/use ON CONFLICT or a savepoint/);
  });

  test.each([
    [
      'user-code-uses-on-conflict',
      (tx: PgTransaction, order: string) => tx.query(`${insert} ON CONFLICT DO NOTHING`, [order]),
    ],
    [
      'user-code-uses-a-savepoint',
      async (tx: PgTransaction, order: string) => {
        await tx.query('SAVEPOINT line');
        await tx.query(insert, [order]).catch(() => tx.query('ROLLBACK TO SAVEPOINT line'));
      },
    ],
  ])('variant %s: done, once', async (_name, variant) => {
    second = variant;
    const order = randomUUID();
    expect((await resultOf(await harness.start(confirmed(order)))).outcome).toBe('done');
    expect([await rows(order), await ledger(order)]).toEqual([1, ['done']]);
  });
});
