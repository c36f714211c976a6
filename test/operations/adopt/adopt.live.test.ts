import { afterEach, beforeEach, expect, test } from 'vitest';
import { perEvent } from '../../../src/effects/declare-effect.js';
import type { Effect } from '../../../src/effects/effect.js';
import { park } from '../../../src/effects/recovery.js';
import type { AdoptOptions } from '../../../src/operations/adopt/adopt-options.js';
import { createGate, type Gate } from '../../hazards/support/gate.js';
import { until } from '../../hazards/support/until.js';
import { type Answered, createStage, type Deployed, type Stage } from '../support/stage.js';
import { eventId, fillClaimTable, settledShop, shipments, tables } from './claim-table.js';

const retry = { initialInterval: 50, maximumInterval: 100, maximumAttempts: 3 };

/** Each writes a row whenever it runs, so that nothing but the ledger keeps a redelivery from doing so. */
const shipOrder = settledShop.effect('ship-order', {
  on: ['order.paid', 'order.refunded'],
  businessKey: ({ data }) => `shipment:${data.order}`,
  retry,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments VALUES ($1)', [event.data.order]);
    return { shipment: 'new' };
  },
});
const mailReceipt = settledShop.effect('mail-receipt', {
  on: 'order.paid',
  businessKey: perEvent,
  retry,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO mails VALUES ($1)', [event.data.order]);
    return null;
  },
});

const act = { by: 'ann', reason: 'moving in' };
const adoption: AdoptOptions = { ...act, source: 'shop', effect: 'ship-order', sql: shipments };

let stage: Stage;
const gates: Gate[] = [];
beforeEach(async () => {
  stage = await createStage({ setup: tables });
});
afterEach(async () => {
  // A test that failed must not leave an effect waiting, which would keep its worker from stopping.
  for (const gate of gates.splice(0)) gate.open();
  await stage.close();
});

function deploy(effects: readonly Effect[]): Deployed {
  return stage.deploy(effects, { source: settledShop });
}

const e = (n: number): string => eventId(stage, n);

/** As the provider does: again while the answer is that the server is too busy. */
async function delivered(deployed: Deployed, n: number): Promise<Answered> {
  for (;;) {
    const answer = await deployed.deliver(e(n), { order: `o-${n}` });
    if (answer.status !== 503) return answer;
  }
}

async function ran(): Promise<{ shipments: number; mails: number }> {
  const [row] = await stage.sql(
    'SELECT (SELECT count(*) FROM shipments)::int AS shipments, (SELECT count(*) FROM mails)::int AS mails',
  );
  return row as { shipments: number; mails: number };
}

async function ledgerChecksum(): Promise<unknown> {
  const names = await stage.sql<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'onefold' ORDER BY 1`,
  );
  return Promise.all(
    names.map(async ({ name }) => [
      name,
      await stage.sql(`SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) AS sum FROM onefold.${name} t`),
    ]),
  );
}

test('redeliveries of a thousand adopted events run no effect and answer the stored results', {
  timeout: 240_000,
}, async () => {
  await fillClaimTable(stage, 1000);
  const deployed = deploy([shipOrder]);
  const outcome = await deployed.onefold.adopt(adoption);
  expect(outcome).toMatchObject({ rows: 1000, adopted: 1000, alreadyThere: 0, conflicts: 0, refused: 0, notRun: [] });

  await deployed.startWorker();
  for (let first = 1; first <= 1000; first += 40) {
    const numbers = Array.from({ length: 40 }, (_, index) => first + index);
    const answers = await Promise.all(numbers.map((n) => delivered(deployed, n)));
    for (const [index, answer] of answers.entries()) {
      expect(answer).toMatchObject({
        status: 200,
        json: { outcome: 'already_done', result: { 'ship-order': { shipment: `old-${numbers[index]}` } } },
      });
    }
  }
  expect(await ran()).toEqual({ shipments: 0, mails: 0 });
  // The same happening under an event id that the earlier system never saw.
  const other = await deployed.deliver(e(5000), { order: 'o-7' });
  expect(other.json).toMatchObject({ outcome: 'already_done', result: { 'ship-order': { shipment: 'old-7' } } });
  expect(deployed.lines.some(({ otherData }) => otherData === true)).toBe(false);
  expect(await ran()).toEqual({ shipments: 0, mails: 0 });
});

test('a second effect is adopted for the same events; of one that was not, a redelivery runs nothing and a replay runs it', async () => {
  await fillClaimTable(stage, 3);
  const deployed = deploy([shipOrder, mailReceipt]);
  const first = await deployed.onefold.adopt(adoption);
  expect(first.notRun).toEqual(['mail-receipt']);
  const second = await deployed.onefold.adopt({
    ...act,
    source: 'shop',
    effect: 'mail-receipt',
    sql: `SELECT event_id AS event_key, processed_at AS done_at FROM processed_events WHERE order_id <> 'o-3'`,
  });
  expect(second).toMatchObject({ adopted: 2, notRun: ['ship-order'] });

  await deployed.startWorker();
  const answers = await Promise.all([1, 2, 3].map((n) => deployed.deliver(e(n), { order: `o-${n}` })));
  expect(answers.map(({ json }) => json.outcome)).toEqual(['already_done', 'already_done', 'already_done']);
  expect(await ran()).toEqual({ shipments: 0, mails: 0 });

  // The redelivery has brought what the earlier system did not keep: the body.
  await deployed.onefold.replay(`shop/${e(3)}`, act);
  await until('the mail of e-3', async () => (await ran()).mails === 1);
  expect(await ran()).toEqual({ shipments: 0, mails: 1 });
});

test('repeated, it finds everything there; broken off and repeated, it adopts the rest', async () => {
  await fillClaimTable(stage, 3000);
  const { onefold } = deploy([shipOrder]);
  const stopping = new AbortController();
  const broken = await onefold.adopt({
    ...adoption,
    id: 'a',
    signal: stopping.signal,
    onProgress: () => stopping.abort(),
  });
  expect(broken).toMatchObject({ rows: 50, adopted: 50, interrupted: { code: 'stopped' } });
  expect(await onefold.adopt({ ...adoption, id: 'a' })).toMatchObject({
    rows: 3000,
    adopted: 2950,
    alreadyThere: 50,
  });
  expect(await onefold.adopt(adoption)).toMatchObject({ rows: 3000, adopted: 0, alreadyThere: 3000 });

  const acts = await stage.sql(`SELECT kind, event_key, actor, reason, outcome, seen FROM onefold.acts WHERE id = 'a'`);
  expect(acts).toMatchObject([
    { kind: 'adopt', event_key: 'effect/ship-order', actor: 'ann', reason: 'moving in', outcome: 'ended' },
  ]);
  expect(JSON.parse(acts[0]?.seen)).toMatchObject({ source: 'shop', rows: 3000, adopted: 2950, alreadyThere: 50 });
  expect(acts[0]?.seen).not.toContain('processed_events');
  expect(
    await stage.sql('SELECT DISTINCT adopted_by, state FROM onefold.effects WHERE adopted_by IS NOT NULL'),
  ).toEqual([{ adopted_by: 'a', state: 'done' }]);
});

test('a dry run judges every row and changes nothing', async () => {
  await fillClaimTable(stage, 600);
  const { onefold } = deploy([shipOrder]);
  await stage.sql(`UPDATE processed_events SET order_id = repeat('x', 600) WHERE order_id = 'o-1'`);
  const before = await ledgerChecksum();
  const seen = await onefold.adopt({ ...adoption, dryRun: true });
  expect(seen).toMatchObject({ rows: 600, adopted: 599, refused: 1, dryRun: true });
  expect(await ledgerChecksum()).toEqual(before);
});

test('two adoptions of the same rows at once write each row once', async () => {
  await fillClaimTable(stage, 2000);
  const { onefold } = deploy([shipOrder]);
  const backwards = shipments.replace('ORDER BY event_id', 'ORDER BY event_id DESC');
  const both = await Promise.all([onefold.adopt(adoption), onefold.adopt({ ...adoption, sql: backwards })]);
  expect(both.map(({ conflicts, refused, rows }) => ({ conflicts, refused, rows }))).toEqual([
    { conflicts: 0, refused: 0, rows: 2000 },
    { conflicts: 0, refused: 0, rows: 2000 },
  ]);
  const [count] = await stage.sql('SELECT count(*)::int AS n FROM onefold.effects');
  expect(count?.n).toBe(2000);
});

test('adopting while the effect runs waits for a local write, and leaves it its event', async () => {
  await fillClaimTable(stage, 2);
  const gate = createGate();
  gates.push(gate);
  const slow = settledShop.effect('ship-order', {
    on: 'order.paid',
    businessKey: ({ data }) => `shipment:${data.order}`,
    retry,
    commit: async ({ event, tx }) => {
      await tx.query('INSERT INTO shipments VALUES ($1)', [event.data.order]);
      await gate.pass();
      return { shipment: 'own' };
    },
  });
  const deployed = deploy([slow]);
  await deployed.startWorker();
  const delivery = deployed.deliver(e(1), { order: 'o-1' });
  await gate.reached;
  const adopting = deployed.onefold.adopt(adoption);
  const early = await Promise.race([adopting, new Promise((resolve) => setTimeout(resolve, 500, 'waits'))]);
  expect(early).toBe('waits');
  gate.open();
  expect((await delivery).json).toMatchObject({ outcome: 'done', result: { 'ship-order': { shipment: 'own' } } });
  expect(await adopting).toMatchObject({ adopted: 1, alreadyThere: 1, conflicts: 0 });
  expect(await ran()).toEqual({ shipments: 1, mails: 0 });
});

test('a call that is under way is a conflict: its claim stands, and its event is not made to look done', async () => {
  await fillClaimTable(stage, 2);
  const gate = createGate();
  gates.push(gate);
  const calls: string[] = [];
  const charge = settledShop.externalEffect('ship-order', {
    on: 'order.paid',
    businessKey: ({ data }) => `shipment:${data.order}`,
    recovery: park(),
    retry,
    perform: async ({ event }) => {
      calls.push(event.data.order);
      await gate.pass();
      return { shipment: 'called' };
    },
  });
  const deployed = deploy([charge]);
  await deployed.startWorker();
  const delivery = deployed.deliver(e(1), { order: 'o-1' });
  await gate.reached;
  const outcome = await deployed.onefold.adopt(adoption);
  expect(outcome).toMatchObject({ adopted: 1, conflicts: 1, firstConflicts: [{ line: 1 }] });
  expect(outcome.firstConflicts[0]?.why).toContain('claimed, for shop/');
  const [open] = await stage.sql(
    `SELECT e.state, e.remaining, k.outcome FROM onefold.events e JOIN onefold.event_effects k USING (tenant, event_key)
     WHERE e.event_id = $1`,
    [e(1)],
  );
  expect(open).toEqual({ state: 'open', remaining: 1, outcome: null });
  gate.open();
  expect((await delivery).json).toMatchObject({ outcome: 'done', result: { 'ship-order': { shipment: 'called' } } });
  expect((await deployed.deliver(e(2), { order: 'o-2' })).json).toMatchObject({ outcome: 'already_done' });
  expect(calls).toEqual(['o-1']);
});

test('an event whose effect waits to be tried again ends by the adopted completion, without a second write', async () => {
  await fillClaimTable(stage, 1);
  let attempts = 0;
  const flaky = settledShop.effect('ship-order', {
    on: 'order.paid',
    businessKey: ({ data }) => `shipment:${data.order}`,
    retry: { initialInterval: 60_000, maximumInterval: 60_000, maximumAttempts: 5 },
    commit: async ({ event, tx }) => {
      attempts += 1;
      if (attempts === 1) throw new Error('the first time');
      await tx.query('INSERT INTO shipments VALUES ($1)', [event.data.order]);
      return null;
    },
  });
  const deployed = deploy([flaky]);
  await deployed.startWorker();
  const delivery = deployed.deliver(e(1), { order: 'o-1' });
  await until('the first attempt', () => attempts === 1);
  await until('its pause', () => deployed.lines.some(({ msg }) => msg === 'effect.failed'));
  expect(await deployed.onefold.adopt(adoption)).toMatchObject({ adopted: 1, conflicts: 0 });
  const [state] = await stage.sql('SELECT state, remaining FROM onefold.events');
  expect(state).toEqual({ state: 'open', remaining: 1 });
  const handle = stage.client.workflow.getHandle(`event//shop/${e(1)}`);
  await handle.signal('retryNow');
  // The completion is of its own event, as after an answer that was lost.
  const result = { json: expect.stringContaining('old-1') };
  expect(await handle.result()).toMatchObject({ outcome: 'done', effects: [{ outcome: 'done', result }] });
  await delivery;
  expect(await ran()).toEqual({ shipments: 0, mails: 0 });
});

test('rows that cannot be adopted are named with their lines and reasons, never with results', async () => {
  const { onefold } = deploy([shipOrder, mailReceipt]);
  const sql = `SELECT * FROM (VALUES
      (NULL, 'shipment:1', '{"ok":1}', 'order.paid'), ('e-2', NULL, '{}', 'order.paid'), ('e-3', 'shipment:3', 'secret', 'order.paid'),
      ('e-4', 'shipment:4', NULL, 'order.lost'), (' ', 'shipment:5', NULL, 'order.paid'), ('e-6', ' ', NULL, NULL)
    ) AS t (event_key, business_key, result, type)`;
  const outcome = await onefold.adopt({ ...adoption, sql });
  expect(outcome).toMatchObject({ rows: 6, adopted: 1, refused: 5 });
  expect(outcome.firstRefused.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6]);
  expect(outcome.firstRefused[1]?.why).toContain('result is not JSON');
  expect(JSON.stringify(outcome)).not.toContain('secret');
  // Its business key is the event's own, so another one would never be found.
  const mail = await onefold.adopt({
    ...adoption,
    effect: 'mail-receipt',
    sql: `SELECT 'e-9' AS event_key, 'mail:9' AS business_key UNION ALL SELECT NULL, NULL`,
  });
  expect(mail).toMatchObject({ adopted: 0, refused: 2 });
});

test.each([
  ['a column that nobody reads', 'SELECT event_id FROM processed_events', 'adopt_refused', /event_id/],
  ['no key at all', 'SELECT response AS result FROM processed_events', 'adopt_refused', /at least one/],
  ['a query that fails', 'SELECT nothing FROM processed_events', 'adopt_refused', /nothing/],
  [
    'a query that writes',
    `WITH gone AS (DELETE FROM processed_events RETURNING 1) SELECT 'e' AS event_key FROM gone`,
    'adopt_refused',
    /./,
  ],
  ['a function that writes', `SELECT 'e' AS event_key FROM nextval('written')`, 'adopt_refused', /read-only/],
  ['a second statement', `SELECT 'e' AS event_key; DELETE FROM processed_events`, 'adopt_refused', /./],
  [
    'a way out of the brackets',
    `SELECT 'e' AS event_key) AS given; COMMIT; DELETE FROM processed_events; SELECT (1`,
    'adopt_refused',
    /./,
  ],
  ['nothing', '  ;', 'adopt_refused', /blank/],
])('it refuses %s, and nothing is changed', async (_what, sql, code, message) => {
  await fillClaimTable(stage, 1);
  await stage.sql('CREATE SEQUENCE written');
  const { onefold } = deploy([shipOrder]);
  await expect(onefold.adopt({ ...adoption, sql })).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  });
  expect(await stage.sql('SELECT count(*)::int AS n FROM processed_events')).toEqual([{ n: 1 }]);
  expect(await stage.sql('SELECT is_called FROM written')).toEqual([{ is_called: false }]);
  expect(await stage.sql('SELECT count(*)::int AS n FROM onefold.effects')).toEqual([{ n: 0 }]);
});

test('it refuses an effect of another source, a blank reason, and the id of another act', async () => {
  await fillClaimTable(stage, 1);
  const { onefold } = deploy([shipOrder, mailReceipt]);
  await expect(onefold.adopt({ ...adoption, effect: 'no-such' })).rejects.toMatchObject({ code: 'effect_unknown' });
  await expect(onefold.adopt({ ...adoption, source: 'other' })).rejects.toMatchObject({ code: 'effect_unknown' });
  await expect(onefold.adopt({ ...adoption, reason: ' ' })).rejects.toMatchObject({ code: 'adopt_refused' });
  await onefold.adopt({ ...adoption, id: 'once' });
  await expect(
    onefold.adopt({ ...adoption, effect: 'mail-receipt', sql: `SELECT 'e-1' AS event_key`, id: 'once' }),
  ).rejects.toMatchObject({ code: 'adopt_refused', message: expect.stringContaining('another act') });
});

test('each tenant has its own, exact digits and long event ids are kept, and times without a zone are UTC', async () => {
  const deployed = deploy([shipOrder]);
  const id = e(1) + 'e'.repeat(400);
  const sql = `SELECT * FROM (VALUES
      ('${id}', 'shipment:1', '{"n":12345678901234567890.10}', timestamp '2026-02-03 04:05:06', 'a'),
      ('${id}', 'shipment:1', NULL, NULL, 'b')
    ) AS t (event_key, business_key, result, done_at, tenant)`;
  expect(await deployed.onefold.adopt({ ...adoption, sql })).toMatchObject({ adopted: 2 });
  const rows = await stage.sql(
    'SELECT tenant, business_key, fence::int, event, result, done_at FROM onefold.effects ORDER BY tenant',
  );
  expect(rows).toMatchObject([
    {
      tenant: 'a',
      fence: 1,
      event: `shop/${id}`,
      result: '{"n":12345678901234567890.10}',
      done_at: new Date('2026-02-03T04:05:06Z'),
    },
    { tenant: 'b', fence: 1, result: null },
  ]);
  // Neither is the event of no tenant.
  await deployed.startWorker();
  expect((await deployed.deliver(id, { order: '1' })).json.outcome).toBe('done');
});

test('a type that was guessed wrong does not hold its event up', async () => {
  const deployed = deploy([shipOrder, mailReceipt]);
  await deployed.onefold.adopt({
    ...adoption,
    effect: 'mail-receipt',
    sql: `SELECT '${e(1)}' AS event_key, now() AS done_at`,
  });
  await deployed.startWorker();
  const body = Buffer.from(JSON.stringify({ type: 'order.refunded', data: { order: 'o-1' } }));
  const headers = settledShop.preset.sign({ body, id: e(1), type: 'order.refunded', now: new Date() });
  const response = await deployed.onefold.fetch(
    new Request('http://receiver.example/webhooks/shop', { method: 'POST', headers, body }),
  );
  expect(await response.json()).toMatchObject({ outcome: 'already_done' });
});

test('a hundred thousand rows are adopted batch by batch, with progress', { timeout: 120_000 }, async () => {
  await fillClaimTable(stage, 100_000);
  const { onefold } = deploy([shipOrder]);
  const seen: number[] = [];
  const outcome = await onefold.adopt({ ...adoption, onProgress: ({ rows }) => void seen.push(rows) });
  expect(outcome).toMatchObject({ adopted: 100_000, conflicts: 0, refused: 0 });
  expect(seen.length).toBeGreaterThan(10);
  expect(seen).toEqual([...seen].sort((one, other) => one - other));
});
