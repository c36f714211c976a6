import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operationsContext } from '../../../src/operations/context.js';
import { countDeadLetters } from '../../../src/operations/dead-letters/count-dead-letters.js';
import { type DeadLetterFilter, listDeadLetters } from '../../../src/operations/dead-letters/list-dead-letters.js';
import { noteDeadLetter } from '../../../src/operations/dead-letters/note-dead-letter.js';
import { showDeadLetter } from '../../../src/operations/dead-letters/show-dead-letter.js';
import { createStage, type Deployed, type Stage } from '../support/stage.js';

let stage: Stage;
let app: Deployed;

beforeAll(async () => {
  stage = await createStage();
  app = stage.deploy([]);
});
afterAll(() => stage?.close());

const context = () => app.onefold[operationsContext];

/** Dead letters of a tenant of its own: of events where n is odd, of deliveries where it is even. */
async function letters(many: number): Promise<string> {
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  await stage.sql(
    `INSERT INTO onefold.dead_letters (tenant, kind, event_key, source, event_id, type, code, message, input, effects, runs)
     SELECT $1, CASE WHEN n % 2 = 0 THEN 'delivery' ELSE 'event' END,
            CASE WHEN n % 2 = 0 THEN 'publication/' || $1 || '/order:' || n || '/shop' ELSE 'event/' || $1 || '/shop/evt-' || n END,
            'shop', CASE WHEN n % 2 = 0 THEN 'order:' || n ELSE 'evt-' || n END, 'order.paid',
            CASE WHEN n = 1 THEN 'rare' ELSE 'common' END, 'm', '{}', '[]', ARRAY['r-1']
     FROM generate_series(1, $2) AS n`,
    [tenant, many],
  );
  return tenant;
}

const names = async (filter: DeadLetterFilter) =>
  (await listDeadLetters(context(), filter)).items.map(({ kind, name, endpoint }) => [kind, name, endpoint]);

test('one list holds letters of events and of deliveries, each named by its kind', async () => {
  const tenant = await letters(4);
  const delivery = (n: number) => ['delivery', `order:${n}`, 'shop'];
  const event = (n: number) => ['event', `shop/evt-${n}`, undefined];
  expect(await names({ tenant })).toEqual([delivery(4), event(3), delivery(2), event(1)]);
  expect(await names({ tenant, kind: 'event' })).toEqual([event(3), event(1)]);
  // One column holds both an event's source and a delivery's endpoint, which are called the same here.
  expect(await names({ tenant, source: 'shop' })).toEqual([event(3), event(1)]);
  expect(await names({ tenant, endpoint: 'shop' })).toEqual([delivery(4), delivery(2)]);
  expect(await names({ tenant, publication: 'order:2' })).toEqual([delivery(2)]);
  expect(await countDeadLetters(context(), { tenant })).toMatchObject([
    { kind: 'delivery', code: 'common', count: 2 },
    { kind: 'event', code: 'common', count: 1 },
    { kind: 'event', code: 'rare', count: 1 },
  ]);
});

test.each<[Partial<DeadLetterFilter>]>([
  [{ kind: 'event', endpoint: 'shop' }],
  [{ kind: 'event', publication: 'evt-1' }],
  [{ kind: 'delivery', source: 'shop' }],
  [{ source: 'shop', endpoint: 'other' }],
  [{ source: 'shop', publication: 'order:2' }],
  [{ businessKey: 'shipment:1', endpoint: 'shop' }],
])('filters that no letter can fit together are refused: %o', async (filter) => {
  await expect(listDeadLetters(context(), filter)).rejects.toMatchObject({ code: 'request_invalid' });
});

test('a kind that is none is refused by its own name', async () => {
  const kind = 'lost' as never;
  const refusal = { code: 'request_invalid', message: expect.stringContaining('kind: expected one of') };
  await expect(listDeadLetters(context(), { kind })).rejects.toMatchObject(refusal);
  await expect(countDeadLetters(context(), { kind })).rejects.toMatchObject(refusal);
});

test('pages neither repeat nor skip a letter while others are opened', async () => {
  const tenant = await letters(9);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await listDeadLetters(context(), { tenant, limit: 2, ...(cursor ? { cursor } : {}) });
    seen.push(...page.items.map(({ name }) => name));
    cursor = page.next;
    await stage.sql(
      `INSERT INTO onefold.dead_letters (tenant, event_key, source, event_id, type, code, message, input, effects, runs)
       VALUES ($1, $2, 'shop', $2, 't', 'c', 'm', '{}', '[]', '{}')`,
      [tenant, randomUUID()],
    );
  } while (cursor);
  expect(seen).toHaveLength(9);
  expect(new Set(seen).size).toBe(9);
});

test('another tenant neither lists, shows, counts nor notes it, by whatever name', async () => {
  const tenant = await letters(2);
  const other = `t-${randomUUID().slice(0, 8)}`;
  expect(await names({ tenant: other, all: true })).toEqual([]);
  expect(await countDeadLetters(context(), { tenant: other })).toEqual([]);
  const { items } = await listDeadLetters(context(), { tenant });
  const named = [...items.map(({ id }) => id), `publication/${tenant}/order:2/shop`, 'shop/evt-1'];
  for (const name of named) {
    await expect(showDeadLetter(context(), name, { tenant: other })).rejects.toMatchObject({
      code: 'dead_letter_unknown',
    });
    const note = { tenant: other, by: 'eve', reason: 'r', note: 'n' };
    await expect(noteDeadLetter(context(), name, note)).rejects.toMatchObject({ code: 'dead_letter_unknown' });
  }
  expect(await stage.sql('SELECT FROM onefold.acts WHERE actor = $1', ['eve'])).toHaveLength(0);
});
