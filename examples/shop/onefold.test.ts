// node --import tsx --test examples/shop/onefold.test.ts
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { startTestDatabase, type TestDatabase, testEffect } from 'onefold/testing';
import { onefold } from './onefold.js';

let database: TestDatabase;
before(async () => {
  database = await startTestDatabase({ setup: await readFile(new URL('schema.sql', import.meta.url), 'utf8') });
});
after(() => database.stop());

/** The delivery of one part of an order, as the shop announces it. */
function paid(fulfilment: string, quantity: number) {
  const shipOrder = onefold.catalogue.effect('ship-order');
  assert.ok(shipOrder);
  const data = { order: 'order-42', fulfilment, items: [{ sku: 'mug-blue', quantity }] };
  return testEffect(shipOrder, { type: 'order.paid', data }, { db: database.db });
}

async function inStock(): Promise<unknown> {
  const { rows } = await database.db.query<{ quantity: number }>(
    "SELECT quantity FROM shop.stock WHERE sku = 'mug-blue'",
  );
  return rows[0]?.quantity;
}

test('one event under two ids ships once, and the second part of an order ships too', async () => {
  const first = paid('order-42-1', 3);
  assert.equal((await first.run()).outcome, 'done');
  assert.equal((await first.another().run()).outcome, 'already_done');
  assert.equal((await paid('order-42-2', 2).run()).outcome, 'done');
  assert.equal(await inStock(), 995);
});

test('a process that dies before its commit has taken nothing from the stock', async () => {
  const before = await inStock();
  const shipping = paid('order-42-3', 5);
  await shipping.crash('before_completion');
  assert.equal(await inStock(), before);
  assert.equal((await shipping.run()).outcome, 'done');
  assert.equal(await inStock(), Number(before) - 5);
});

test('what is out of stock is tried again until its budget is spent, and takes nothing', async () => {
  const before = await inStock();
  const { outcome, code, attempts } = await paid('order-42-4', 100_000).run();
  assert.deepEqual({ outcome, code, attempts }, { outcome: 'failed', code: 'not_done', attempts: 30 });
  assert.equal(await inStock(), before);
});
