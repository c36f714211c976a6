import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { park } from '../../src/effects/recovery.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { createOnefold } from '../../src/onefold.js';
import type { ResolveOptions } from '../../src/operations/resolve-effect.js';
import { shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from './support/stage.js';

/** Calls that reached the partner: order, idempotency key. */
const calls: { readonly order: string; readonly key: string }[] = [];
/** Orders whose call gets no answer, so that nobody knows whether it took hold. */
const unanswered = new Set<string>();

async function callPartner(order: string, key: string) {
  calls.push({ order, key });
  if (unanswered.has(order)) throw new Error('socket hang up');
  return { charge: `ch_${order}` };
}

const chargeCard = shop.externalEffect('charge-card', {
  on: 'order.paid',
  businessKey: ({ data }) => (data.shared as string | undefined) ?? `charge:${data.order}`,
  recovery: park(),
  retry: { initialInterval: 100, maximumAttempts: 2 },
  perform: ({ event, idempotencyKey }) => callPartner(event.data.order, idempotencyKey),
});
/** The same, with business rows. */
const bookCharge = shop.externalEffect('book-charge', {
  on: 'order.paid',
  businessKey: ({ data }) => `booking:${data.order}`,
  recovery: park(),
  perform: ({ event, idempotencyKey }) => callPartner(event.data.order, idempotencyKey),
  commit: async ({ event, tx, result }) => {
    await tx.query('INSERT INTO bookings (order_id, charge) VALUES ($1, $2)', [event.data.order, result.charge]);
  },
});
/** The same, for which nobody waits long. */
const hastyCharge = shop.externalEffect('hasty-charge', {
  on: 'order.paid',
  businessKey: ({ data }) => `hasty:${data.order}`,
  recovery: park(),
  parkedAtMost: '1 second',
  perform: ({ event, idempotencyKey }) => callPartner(event.data.order, idempotencyKey),
});

const ada = { by: 'ada', reason: 'seen in the dashboard of the bank' };

let stage: Stage;
let id: string;
let key: string;
let app: Deployed;
let running: Deployed | undefined;

beforeAll(async () => {
  stage = await createStage({ setup: 'CREATE TABLE bookings (order_id text NOT NULL, charge text)' });
});
afterAll(() => stage?.close());
beforeEach(() => {
  id = randomUUID();
  key = `event//shop/${id}`;
});

/** Deploys in the place of the worker before. */
async function deploy(...effects: Parameters<Stage['deploy']>[0]): Promise<void> {
  await running?.stopWorker();
  app = stage.deploy(effects);
  running = app;
  await app.startWorker();
}

const handle = (event = id) => stage.client.workflow.getHandle(`event//shop/${event}`);
const callsOf = (order = id) => calls.filter((call) => call.order === order);
const row = async (effect: string, businessKey: string) =>
  (
    await stage.sql(
      `SELECT state, fence::int, generation, in_doubt, result, idempotency_key IS NOT NULL AS has_key
       FROM onefold.effects WHERE effect = $1 AND business_key = $2`,
      [effect, businessKey],
    )
  )[0];
const acts = () =>
  stage.sql('SELECT id, kind, actor, reason, outcome FROM onefold.acts WHERE event_key = $1 ORDER BY at', [key]);
const openLetters = () =>
  stage.sql('SELECT code, parked FROM onefold.dead_letters WHERE event_key = $1 AND closed_at IS NULL', [key]);

/** An event whose call got no answer and which waits for a person. */
async function parked(data: Record<string, unknown> = {}, event = id): Promise<void> {
  unanswered.add(event);
  await app.deliver(event, data);
  await until('the park', async () => {
    const status = (await handle(event).query('status')) as { effects: { phase: string; nextTryAt?: string }[] };
    return status.effects.some(({ phase, nextTryAt }) => phase === 'parked' && nextTryAt !== undefined);
  });
  unanswered.delete(event);
}

/** A row of the ledger as an attempt of another process may have left it. */
async function insertClaim(claim: {
  effect: string;
  businessKey: string;
  state: string;
  lease?: string;
  result?: string;
  tenant?: string;
}): Promise<void> {
  await stage.sql(
    `INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest,
                                  lease_until, in_doubt, result, done_at)
     VALUES ($1, $2, $3, $4, 1, $5, $6, $7, 'digest', clock_timestamp() + $8::interval, $4 = 'unknown', $9,
             CASE WHEN $4 = 'done' THEN clock_timestamp() END)`,
    [
      claim.tenant ?? '',
      claim.effect,
      claim.businessKey,
      claim.state,
      randomUUID(),
      key,
      `shop/${id}`,
      claim.lease ?? null,
      claim.result ?? null,
    ],
  );
}

/** Starts several at the same moment: each has come to the row before any may have it. */
async function whileLocked<Value>(businessKey: string, start: () => readonly Promise<Value>[]) {
  const database = pgDatabase({ connectionString: stage.databaseUrl });
  try {
    const started = await database.transaction(
      async (_tx, sql) => {
        await sql('SELECT 1 FROM onefold.effects WHERE business_key = $1 FOR UPDATE', [businessKey]);
        const all = start();
        await until('all of them at the row', async () => {
          const [waits] = await stage.sql(
            "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
          );
          return waits?.n === all.length;
        });
        return all;
      },
      { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000, idleTimeoutMs: 60_000 },
    );
    return await Promise.allSettled(started);
  } finally {
    await database.close();
  }
}

test('resolved as done, the waiting event ends with the result that the person gave, and nothing is called again', async () => {
  await deploy(chargeCard);
  await parked();
  expect(await openLetters()).toEqual([{ code: 'effect_parked', parked: true }]);
  await expect(app.onefold.replay(`shop/${id}`, { ...ada, dryRun: true })).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining(`onefold resolve charge-card "charge:${id}"`),
  });

  const outcome = await app.onefold.resolve('charge-card', `charge:${id}`, {
    ...ada,
    outcome: 'done',
    result: { charge: 'ch_seen' },
  });
  expect(outcome).toMatchObject({
    effect: 'charge-card',
    businessKey: `charge:${id}`,
    outcome: 'done',
    seen: { state: 'parked', event: `shop/${id}`, eventKey: key },
    waiting: [{ event: `shop/${id}`, eventKey: key, action: 'signalled' }],
    toldAll: true,
  });
  expect(await handle().result()).toMatchObject({
    outcome: 'done',
    effects: [{ effect: 'charge-card', outcome: 'done', result: { json: '{"charge":"ch_seen"}' } }],
  });
  expect(callsOf()).toHaveLength(1);
  expect(await openLetters()).toEqual([]);
  expect(await acts()).toEqual([
    { id: outcome.id, kind: 'resolve', actor: 'ada', reason: ada.reason, outcome: 'done' },
  ]);
  expect(app.lines).toContainEqual(
    expect.objectContaining({
      msg: 'effect.resolved',
      eventKey: key,
      effect: 'charge-card',
      by: 'ada',
      act: outcome.id,
      state: 'parked',
      outcome: 'done',
    }),
  );
});

test('resolved as absent, it is performed once more, under another key than the call that got no answer', async () => {
  await deploy(chargeCard);
  await parked();
  const before = await row('charge-card', `charge:${id}`);
  expect(await app.onefold.resolve('charge-card', `charge:${id}`, { ...ada, outcome: 'absent' })).toMatchObject({
    outcome: 'absent',
  });
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
  const [first, second, ...more] = callsOf();
  expect(more).toEqual([]);
  expect(second?.key).not.toBe(first?.key);
  const after = await row('charge-card', `charge:${id}`);
  expect(after).toMatchObject({ state: 'done', generation: before?.generation + 1, in_doubt: false });
  expect(after?.fence).toBeGreaterThan(before?.fence + 1);
});

test('resolved as done, an effect with a commit writes it with the given result, once, and completes', async () => {
  await deploy(bookCharge);
  await parked();
  const outcome = await app.onefold.resolve('book-charge', `booking:${id}`, {
    ...ada,
    outcome: 'done',
    result: { charge: 'ch_seen' },
  });
  expect(outcome.outcome).toBe('performed');
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
  expect(await stage.sql('SELECT charge FROM bookings WHERE order_id = $1', [id])).toEqual([{ charge: 'ch_seen' }]);
  expect(callsOf()).toHaveLength(1);
  expect(await row('book-charge', `booking:${id}`)).toMatchObject({ state: 'done', result: '{"charge":"ch_seen"}' });
});

test('every event that waits for the key goes on, and only one of them has done it', async () => {
  await deploy(chargeCard);
  const shared = `charge:${id}`;
  await parked({ shared });
  const others = [randomUUID(), randomUUID()];
  for (const other of others) await parked({ shared }, other);
  const { waiting } = await app.onefold.resolve('charge-card', shared, { ...ada, outcome: 'absent' });
  expect(waiting.map(({ event, action }) => `${action} ${event}`).sort()).toEqual(
    [id, ...others].map((event) => `signalled shop/${event}`).sort(),
  );
  const results = await Promise.all([id, ...others].map((event) => handle(event).result()));
  const outcomes = results.map(({ outcome }) => outcome).sort();
  expect(outcomes).toEqual(['already_done', 'already_done', 'done']);
  expect([id, ...others].flatMap((event) => callsOf(event))).toHaveLength(2);
});

test('the same act again changes nothing, answers the first outcome, and tells the waiting again', async () => {
  await deploy(chargeCard);
  await parked();
  await app.stopWorker();
  const act = { ...ada, outcome: 'done', result: 1, id: `act-${id}` } as const;
  const first = await app.onefold.resolve('charge-card', `charge:${id}`, act);
  const written = await row('charge-card', `charge:${id}`);
  const second = await app.onefold.resolve('charge-card', `charge:${id}`, act);
  expect(second).toEqual(first);
  expect(await row('charge-card', `charge:${id}`)).toEqual(written);
  expect(await acts()).toHaveLength(1);
  const { events } = await handle().fetchHistory();
  const signals = events?.filter((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'retryNow');
  expect(signals).toHaveLength(2);

  await expect(
    app.onefold.resolve('charge-card', `charge:${id}`, { ...ada, outcome: 'absent', id: act.id }),
  ).rejects.toMatchObject({ code: 'resolve_refused', message: expect.stringContaining('opposite') });
  await expect(app.onefold.resolve('charge-card', `charge:${randomUUID()}`, act)).rejects.toMatchObject({
    code: 'resolve_refused',
    message: expect.stringContaining('another act'),
  });
  await app.startWorker();
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
});

test('of two people who say the opposite at once, one is believed and the other is told', async () => {
  await deploy(chargeCard);
  await app.stopWorker();
  await insertClaim({ effect: 'charge-card', businessKey: id, state: 'parked' });
  const answers = await whileLocked(id, () => [
    app.onefold.resolve('charge-card', id, { ...ada, outcome: 'done' }),
    app.onefold.resolve('charge-card', id, { ...ada, outcome: 'absent' }),
  ]);
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const answer of answers) {
    if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'resolve_refused' });
  }
  expect(await acts()).toHaveLength(1);
});

test('one command given twice at once is carried out once, and both are told the same', async () => {
  await deploy(chargeCard);
  await app.stopWorker();
  await insertClaim({ effect: 'charge-card', businessKey: id, state: 'parked' });
  const act = { ...ada, outcome: 'absent', id: `act-${id}` } as const;
  const [one, other] = await whileLocked(id, () => [
    app.onefold.resolve('charge-card', id, act),
    app.onefold.resolve('charge-card', id, act),
  ]);
  expect(one).toMatchObject({ status: 'fulfilled', value: { outcome: 'absent', seen: { state: 'parked' } } });
  expect(other).toEqual(one);
  expect(await row('charge-card', id)).toMatchObject({ state: 'released', fence: 2, generation: 2 });
});

test.each([
  ['done', { state: 'done', result: '1' }, 'resolve_refused', /is done, by shop\/.*: done is final/],
  [
    'under an attempt',
    { state: 'claimed', lease: '1 hour' },
    'resolve_refused',
    /lease until \d{4}-.*: wait for its end/,
  ],
  ['unknown, its code still running', { state: 'unknown', lease: '1 hour' }, 'resolve_refused', /lease until/],
  ['released', { state: 'released' }, 'resolve_refused', /has not happened, for certain/],
  ['of another tenant', { state: 'parked', tenant: 'acme' }, 'claim_unknown', /no claim of 'charge-card' under/],
])('what is %s is refused, and nothing is written', async (_what, claim, code, message) => {
  await deploy(chargeCard);
  await insertClaim({ effect: 'charge-card', businessKey: id, ...claim });
  const before = await row('charge-card', id);
  for (const verdict of [{ outcome: 'done' }, { outcome: 'absent' }] as const) {
    const refused = expect.objectContaining({ code, message: expect.stringMatching(message) });
    await expect(app.onefold.resolve('charge-card', id, { ...ada, ...verdict })).rejects.toEqual(refused);
    await expect(app.onefold.resolve('charge-card', id, { ...ada, ...verdict, dryRun: true })).rejects.toEqual(refused);
  }
  expect(await row('charge-card', id)).toEqual(before);
  expect(await acts()).toEqual([]);
});

test.each([
  ['parked', { state: 'parked' }],
  ['unknown, its lease over', { state: 'unknown', lease: '-1 second' }],
  ['left by an attempt that vanished', { state: 'claimed', lease: '-1 second' }],
  ['performed, its commit missing', { state: 'performed', lease: '-1 second', result: '1' }],
])('what is %s can be resolved, either way', async (_what, claim) => {
  await deploy(bookCharge);
  const [done, absent] = [`${id}:done`, `${id}:absent`];
  await insertClaim({ effect: 'book-charge', businessKey: done, ...claim });
  await insertClaim({ effect: 'book-charge', businessKey: absent, ...claim });
  await app.onefold.resolve('book-charge', done, { ...ada, outcome: 'done', result: 2 });
  await app.onefold.resolve('book-charge', absent, { ...ada, outcome: 'absent' });
  expect(await row('book-charge', done)).toMatchObject({ state: 'performed', fence: 2, in_doubt: false, result: '2' });
  expect(await row('book-charge', absent)).toEqual({
    state: 'released',
    fence: 2,
    generation: 2,
    in_doubt: false,
    result: null,
    has_key: false,
  });
});

test('an event that was dead-lettered because nobody spoke in time runs again, once per act', async () => {
  await deploy(hastyCharge);
  unanswered.add(id);
  await app.deliver(id);
  await expect(handle().result()).rejects.toThrow();
  unanswered.delete(id);
  expect(await openLetters()).toEqual([{ code: 'effect_parked', parked: false }]);

  const act = { ...ada, outcome: 'done', result: null, id: `act-${id}` } as const;
  const { waiting } = await app.onefold.resolve('hasty-charge', `hasty:${id}`, act);
  expect(waiting).toEqual([{ event: `shop/${id}`, eventKey: key, action: 'restarted' }]);
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
  expect(await openLetters()).toEqual([]);
  expect(callsOf()).toHaveLength(1);
  expect(await acts()).toMatchObject([
    { kind: 'resolve', outcome: 'done' },
    { kind: 'replay', id: `act-${id}#${key}`, actor: 'ada', outcome: 'started' },
  ]);
  expect((await app.onefold.resolve('hasty-charge', `hasty:${id}`, act)).waiting).toEqual([]);
  expect(await stage.runsOf(key)).toHaveLength(2);
});

test('an event that was abandoned, or closed on purpose, or failed for another reason, is left alone', async () => {
  await deploy(chargeCard);
  const shared = `charge:${id}`;
  await parked({ shared });
  await handle().executeUpdate('abandon', { args: [{ by: 'bob', reason: 'fraud' }] });
  const [terminated, failed, closed] = [randomUUID(), randomUUID(), randomUUID()];
  const record = (event: string, state: string) =>
    stage.sql(
      `WITH event AS (
         INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, remaining, received_at, state)
         VALUES ('', $1, 'shop', $2, 'order.paid', 'd', '{}', 1, now(), $3))
       INSERT INTO onefold.event_effects (tenant, event_key, effect, business_key) VALUES ('', $1, 'charge-card', $4)`,
      [`event//shop/${event}`, event, state, shared],
    );
  const letter = (event: string, code: string) =>
    stage.sql(
      `INSERT INTO onefold.dead_letters (tenant, event_key, source, event_id, type, code, message, input, effects, runs)
       VALUES ('', $1, 'shop', $2, 'order.paid', $3, '', '{}', '[]', '{}')`,
      [`event//shop/${event}`, event, code],
    );
  await record(terminated, 'dead_lettered');
  await letter(terminated, 'terminated');
  await record(failed, 'dead_lettered');
  await letter(failed, 'permanent_error');
  await record(closed, 'open');

  const { waiting, toldAll } = await app.onefold.resolve('charge-card', shared, { ...ada, outcome: 'absent' });
  expect(toldAll).toBe(true);
  const because = new Map(waiting.map((one) => [one.event, `${one.action}: ${one.because}`]));
  expect(because).toEqual(
    new Map(
      [
        [`shop/${terminated}`, 'left: dead-lettered with terminated: replay it'],
        [`shop/${failed}`, 'left: dead-lettered with permanent_error: replay it'],
        [`shop/${closed}`, 'left: its workflow was closed from outside: replay it, or let it be redelivered'],
      ].sort() as [string, string][],
    ),
  );
  expect(await stage.runsOf(key)).toHaveLength(1);
  expect(callsOf()).toHaveLength(1);
});

test('all of many waiting events are told', async () => {
  await deploy(chargeCard);
  await insertClaim({ effect: 'charge-card', businessKey: id, state: 'parked' });
  await stage.sql(
    `WITH event AS (
       INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, remaining, received_at)
       SELECT '', $1 || n, 'shop', n, 'order.paid', 'd', '{}', 1, now() FROM generate_series(1, 45) AS n)
     INSERT INTO onefold.event_effects (tenant, event_key, effect, business_key)
     SELECT '', $1 || n, 'charge-card', $2 FROM generate_series(1, 45) AS n`,
    [`event//shop/${id}-`, id],
  );
  const { waiting } = await app.onefold.resolve('charge-card', id, { ...ada, outcome: 'done' });
  expect(new Set(waiting.map(({ eventKey }) => eventKey)).size).toBe(45);
});

test('a renamed effect is resolved by its present and by its former name, under every row that it has', async () => {
  const pay = (formerly: string[]) =>
    shop.externalEffect(formerly.length > 0 ? 'pay-order' : 'charge-order', {
      on: 'order.paid',
      businessKey: ({ data }) => `pay:${data.order}`,
      recovery: park(),
      formerly,
      perform: ({ event, idempotencyKey }) => callPartner(event.data.order, idempotencyKey),
    });
  await deploy(pay([]));
  await parked();
  await deploy(pay(['charge-order']));
  const outcome = await app.onefold.resolve('pay-order', `pay:${id}`, { ...ada, outcome: 'done', result: 'x' });
  expect(outcome).toMatchObject({
    effect: 'pay-order',
    seen: { effect: 'pay-order', recordedAs: 'charge-order' },
    waiting: [{ action: 'signalled' }],
  });
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
  expect(callsOf()).toHaveLength(1);

  for (const effect of ['charge-order', 'pay-order']) {
    await insertClaim({ effect, businessKey: `two:${id}`, state: 'parked' });
  }
  await app.onefold.resolve('charge-order', `two:${id}`, { ...ada, outcome: 'absent' });
  expect(await row('charge-order', `two:${id}`)).toMatchObject({ state: 'released' });
  expect(await row('pay-order', `two:${id}`)).toMatchObject({ state: 'released' });
});

test('an effect that the configuration lacks is resolved by the name that the ledger has', async () => {
  await deploy(chargeCard);
  await insertClaim({ effect: 'long-gone', businessKey: id, state: 'parked' });
  const outcome = await app.onefold.resolve('long-gone', id, { ...ada, outcome: 'done', result: { a: 1n } });
  expect(outcome).toMatchObject({ effect: 'long-gone', outcome: 'done' });
  expect(await row('long-gone', id)).toMatchObject({ state: 'done', result: '{"a":1}' });
});

test('a local write that was claimed without its completion is resolved too: done stays done, absent is written', async () => {
  const shipOrder = shop.effect('ship-order', {
    on: 'order.paid',
    businessKey: ({ data }) => `shipment:${data.order}`,
    commit: async ({ event, tx }) => {
      await tx.query('INSERT INTO bookings (order_id) VALUES ($1)', [event.data.order]);
    },
  });
  await deploy(shipOrder);
  const stuck = async (event: string) => {
    await insertClaim({ effect: 'ship-order', businessKey: `shipment:${event}`, state: 'claimed' });
    await app.deliver(event);
    await expect(handle(event).result()).rejects.toThrow();
  };
  const other = randomUUID();
  await stuck(id);
  key = `event//shop/${other}`;
  await stuck(other);
  for (const [event, outcome] of [
    [id, 'done'],
    [other, 'absent'],
  ] as const) {
    const { waiting } = await app.onefold.resolve('ship-order', `shipment:${event}`, { ...ada, outcome });
    expect(waiting).toMatchObject([{ action: 'restarted' }]);
    expect(await handle(event).result()).toMatchObject({ outcome: 'done' });
  }
  const booked = await stage.sql('SELECT order_id FROM bookings WHERE order_id = ANY($1)', [[id, other]]);
  expect(booked).toEqual([{ order_id: other }]);
});

test('with Temporal away the word stands, and the answer says that nobody could be told', async () => {
  await deploy(chargeCard);
  await parked();
  const database = pgDatabase({ connectionString: stage.databaseUrl });
  const offline = createOnefold({
    sources: [shop],
    effects: [chargeCard],
    database,
    logger: pino({ level: 'silent' }),
    temporal: { address: '127.0.0.1:1', environment: {} },
  });
  const act = { ...ada, outcome: 'done', id: `act-${id}` } as const;
  const outcome = await offline.resolve('charge-card', `charge:${id}`, act);
  expect(outcome).toMatchObject({
    outcome: 'done',
    toldAll: false,
    waiting: [{ action: 'left', because: expect.stringMatching(/^temporal_unavailable: /) }],
  });
  expect(await row('charge-card', `charge:${id}`)).toMatchObject({ state: 'done' });
  await offline.close();
  await database.close();

  expect(await app.onefold.resolve('charge-card', `charge:${id}`, act)).toMatchObject({ toldAll: true });
  expect(await handle().result()).toMatchObject({ outcome: 'done' });
});

test('a dry run says what it would come to and changes nothing', async () => {
  await deploy(bookCharge);
  await insertClaim({ effect: 'book-charge', businessKey: id, state: 'parked' });
  const before = await row('book-charge', id);
  const seen = await app.onefold.resolve('book-charge', id, { ...ada, outcome: 'done', result: 1, dryRun: true });
  expect(seen).toMatchObject({ outcome: 'performed', dryRun: true, seen: { state: 'parked' }, waiting: [] });
  expect(await row('book-charge', id)).toEqual(before);
  expect(await acts()).toEqual([]);
});

test.each<[string, Partial<ResolveOptions> & Record<string, unknown>, string]>([
  ['a result that is no JSON', { outcome: 'done', result: new Map() }, 'result_not_json'],
  ['a result above 1 MiB', { outcome: 'done', result: 'x'.repeat(1024 * 1024 - 1) }, 'result_too_large'],
  ['neither done nor absent', { outcome: 'perhaps' as never }, 'config_invalid'],
  ['a result of what is absent', { outcome: 'absent', result: 1 }, 'config_invalid'],
  ['a misspelt option', { outcome: 'absent', resaon: 'x' }, 'config_invalid'],
  ['a blank reason', { outcome: 'absent', reason: ' ' }, 'resolve_refused'],
  ['a blank id', { outcome: 'absent', id: '' }, 'resolve_refused'],
])('%s is refused before anything is looked at', async (_what, options, code) => {
  await deploy(chargeCard);
  await insertClaim({ effect: 'charge-card', businessKey: id, state: 'parked' });
  await expect(app.onefold.resolve('charge-card', id, { ...ada, ...options } as ResolveOptions)).rejects.toMatchObject({
    code,
  });
  expect(await row('charge-card', id)).toMatchObject({ state: 'parked' });
});

test('a result of exactly 1 MiB of JSON is taken', async () => {
  await deploy(chargeCard);
  await insertClaim({ effect: 'charge-card', businessKey: id, state: 'parked' });
  await app.onefold.resolve('charge-card', id, { ...ada, outcome: 'done', result: 'x'.repeat(1024 * 1024 - 2) });
  expect((await row('charge-card', id))?.result).toHaveLength(1024 * 1024);
});
