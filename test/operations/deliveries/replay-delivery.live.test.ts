import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/ledger/database.js';
import { operationsContext, withLedger } from '../../../src/operations/context.js';
import { type ReplayDeliveryOptions, replayDelivery } from '../../../src/operations/deliveries/replay-delivery.js';
import { replayPublication } from '../../../src/operations/deliveries/replay-publication.js';
import { until } from '../../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from '../../publisher/support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../../publisher/support/scripted-receiver.js';

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
beforeAll(async () => {
  stage = await createDeliveryStage();
});
afterAll(() => stage?.close());
beforeEach(async () => {
  receiver = await startScriptedReceiver();
});
afterEach(async () => {
  await receiver.close();
  await stage.sql(`UPDATE onefold.endpoints SET state = 'removed'`);
});

const bob: ReplayDeliveryOptions = { by: 'bob', reason: 'their database is back' };
const context = () => stage.onefold[operationsContext];

interface Delivered {
  readonly endpoint: string;
  readonly publication: string;
  readonly eventId: string;
  readonly key: string;
}

/** A publication that one endpoint was sent, and its answer. */
async function sent(status: number, tenant = ''): Promise<Delivered> {
  receiver.answer(() => status);
  const { id: endpoint } = await stage.endpoint(receiver.url, { tenant, schedule: [] });
  const { publication, eventId } = await stage.publish(undefined, tenant);
  await stage.end(endpoint, publication, tenant);
  receiver.answer(() => 200);
  const key = stage.handle(endpoint, publication, tenant).workflowId;
  return { endpoint, publication, eventId, key };
}

const acts = ({ key }: Delivered) =>
  stage.sql('SELECT id, kind, actor, reason, outcome FROM onefold.acts WHERE event_key = $1 ORDER BY at', [key]);

async function runsOf({ key }: Delivered): Promise<number> {
  let runs = 0;
  for await (const _run of stage.client.workflow.list({ query: `WorkflowId = '${key}'` })) runs += 1;
  return runs;
}

test('a dead-lettered delivery is sent again under its webhook-id, and its dead letter is closed', async () => {
  const delivery = await sent(500);
  expect(await stage.row(delivery.endpoint, delivery.publication)).toMatchObject({ state: 'dead_lettered' });
  const replayed = await replayDelivery(context(), delivery, bob);
  expect(replayed).toMatchObject({
    deliveryKey: delivery.key,
    eventId: delivery.eventId,
    outcome: 'started',
    state: { ledger: 'dead_lettered', temporal: 'failed', endpoint: 'enabled' },
    attempts: 1,
  });
  expect(await stage.end(delivery.endpoint, delivery.publication)).toMatchObject({ outcome: 'delivered' });
  expect(receiver.of(delivery.eventId)).toHaveLength(2);
  expect(new Set(receiver.of(delivery.eventId).map(({ body }) => body)).size).toBe(1);
  expect(await stage.row(delivery.endpoint, delivery.publication)).toMatchObject({
    state: 'delivered',
    attempts: 2,
    replay: replayed.id,
  });
  const letters = await stage.sql('SELECT closed_at FROM onefold.dead_letters WHERE event_key = $1', [delivery.key]);
  expect(letters).toEqual([{ closed_at: expect.any(Date) }]);
  expect(await acts(delivery)).toEqual([
    { id: replayed.id, kind: 'replay', actor: 'bob', reason: bob.reason, outcome: 'started' },
  ]);
  expect(stage.lines).toContainEqual(
    expect.objectContaining({ msg: 'delivery.replayed', deliveryKey: delivery.key, act: replayed.id, by: 'bob' }),
  );
  const run = await stage.handle(delivery.endpoint, delivery.publication).describe();
  expect(run.memo).toMatchObject({ replay: replayed.id });
});

test('deliberate-replay-is-not-a-duplicate: a repeated command sends once, another one sends again', async () => {
  const known = JSON.parse(
    readFileSync(new URL('../../cases/deliberate-replay-is-not-a-duplicate.json', import.meta.url), 'utf8'),
  );
  const { id: endpoint } = await stage.endpoint(receiver.url);
  const { message, steps } = known.given;
  const { publication } = await stage.onefold.publish({
    publication: `replayed:${randomUUID()}`,
    type: message.type,
    data: JSON.parse(message.body).data,
    eventId: message.id,
  });
  const outcomes: Record<string, unknown[]> = {};
  for (const step of steps) {
    if (step.do === 'deliver' || step.do === 'wait-until-idle') {
      expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered' });
    } else {
      const wish = { by: step.by ?? 'operator', reason: 'they ask for it', id: step.command };
      outcomes[step.command] ??= [];
      outcomes[step.command]?.push(await replayDelivery(context(), { publication, endpoint }, wish));
    }
  }
  expect(receiver.requests).toHaveLength(known.expect.requestsToEndpoint);
  for (const { headers } of receiver.requests) expect(headers).toMatchObject(known.expect.everyRequest);
  // Every command has a visible outcome, and a repeated one that of the first.
  expect(outcomes.r1).toMatchObject([{ outcome: 'started' }, { outcome: 'started' }]);
  expect(outcomes.r1?.[1]).toEqual(outcomes.r1?.[0]);
  expect(outcomes.r2).toMatchObject([{ outcome: 'started' }]);
});

test('one command given many times at once sends once, and each is told of the same run', async () => {
  const delivery = await sent(200);
  const wish = { ...bob, id: `same-${randomUUID()}` };
  const answers = await Promise.all(Array.from({ length: 8 }, () => replayDelivery(context(), delivery, wish)));
  expect(new Set(answers.map(({ outcome, runId }) => `${outcome} ${runId}`)).size).toBe(1);
  expect(answers[0]?.outcome).toBe('started');
  await stage.end(delivery.endpoint, delivery.publication);
  expect(receiver.of(delivery.eventId)).toHaveLength(2);
  await until('both runs in visibility', async () => (await runsOf(delivery)) === 2);
});

test('a command that is repeated while a rejected run ends does not send a second time', async () => {
  const delivery = await sent(404);
  receiver.answer(() => 404);
  const wish = { ...bob, id: `rejected-${randomUUID()}` };
  const first = await replayDelivery(context(), delivery, wish);
  await stage.end(delivery.endpoint, delivery.publication);
  expect(await replayDelivery(context(), delivery, wish)).toEqual(first);
  expect(receiver.of(delivery.eventId)).toHaveLength(2);
});

test('of many different wishes at once each is carried out or says that it lost the race', async () => {
  const delivery = await sent(200);
  const answers = await Promise.allSettled(
    Array.from({ length: 6 }, (_, person) => replayDelivery(context(), delivery, { ...bob, by: `person ${person}` })),
  );
  const outcomes = answers.map((answer) =>
    answer.status === 'fulfilled' ? answer.value.outcome : (answer.reason as { code: string }).code,
  );
  const started = outcomes.filter((outcome) => outcome === 'started').length;
  expect(started).toBeGreaterThanOrEqual(1);
  for (const outcome of outcomes) expect(['started', 'lost_race', 'replay_refused']).toContain(outcome);
  await stage.end(delivery.endpoint, delivery.publication);
  expect(receiver.of(delivery.eventId)).toHaveLength(1 + started);
});

test('a wish that was recorded by a process that died before the start is carried out by the same command', async () => {
  const delivery = await sent(500);
  const { eventId, state, attempts } = await replayDelivery(context(), delivery, { ...bob, dryRun: true });
  await stage.sql(
    `INSERT INTO onefold.acts (tenant, id, kind, event_key, actor, reason, seen, outcome)
     VALUES ('', $1, 'replay', $2, 'bob', 'r', $3, 'asked')`,
    [`asked-${delivery.publication}`, delivery.key, JSON.stringify({ eventId, state, attempts })],
  );
  const again = await replayDelivery(context(), delivery, { ...bob, id: `asked-${delivery.publication}` });
  expect(again.outcome).toBe('started');
  expect(await stage.end(delivery.endpoint, delivery.publication)).toMatchObject({ outcome: 'delivered' });
});

test('a wish whose process died after the start is answered by its run, and nothing more is sent', async () => {
  const delivery = await sent(500);
  const id = `unsaid-${randomUUID()}`;
  const first = await replayDelivery(context(), delivery, { ...bob, id });
  await stage.end(delivery.endpoint, delivery.publication);
  await stage.sql(`UPDATE onefold.acts SET outcome = 'asked' WHERE id = $1`, [id]);
  expect(await replayDelivery(context(), delivery, { ...bob, id })).toEqual(first);
  expect(receiver.of(delivery.eventId)).toHaveLength(2);
  expect(await acts(delivery)).toMatchObject([{ outcome: 'started' }]);
});

test('a wish whose start was lost is superseded by a later one that was carried out, and starts nothing', async () => {
  const delivery = await sent(500);
  const { eventId, state, attempts } = await replayDelivery(context(), delivery, { ...bob, dryRun: true });
  const first = `lost-${randomUUID()}`;
  await stage.sql(
    `INSERT INTO onefold.acts (tenant, id, kind, event_key, actor, reason, seen, outcome)
     VALUES ('', $1, 'replay', $2, 'bob', 'r', $3, 'asked')`,
    [first, delivery.key, JSON.stringify({ eventId, state, attempts })],
  );
  const second = await replayDelivery(context(), delivery, bob);
  await stage.end(delivery.endpoint, delivery.publication);
  const runs = await runsOf(delivery);
  for (const _time of [1, 2]) {
    expect(await replayDelivery(context(), delivery, { ...bob, id: first })).toMatchObject({
      outcome: 'superseded',
      supersededBy: second.id,
    });
  }
  expect(await runsOf(delivery)).toBe(runs);
  expect(await acts(delivery)).toMatchObject([
    { id: first, outcome: 'superseded' },
    { id: second.id, outcome: 'started' },
  ]);
});

test('a delivery under way is refused, and so is one that waits for a relay or whose endpoint was removed', async () => {
  const { id: endpoint } = await stage.endpoint(receiver.url, { schedule: ['1 hour'] });
  receiver.answer(() => 503);
  const { publication } = await stage.publish();
  await until('it pauses', async () => (await stage.row(endpoint, publication)).last_code === 'http_503');
  await expect(replayDelivery(context(), { publication, endpoint }, bob)).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining('retry-now'),
  });
  await stage.sql(
    `UPDATE onefold.publication_deliveries SET state = 'queued', relay_until = 'infinity' WHERE publication = $1`,
    [publication],
  );
  await expect(replayDelivery(context(), { publication, endpoint }, bob)).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining('relay'),
  });
  await stage.onefold.endpoints.remove(endpoint);
  await expect(replayDelivery(context(), { publication, endpoint }, bob)).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining('removed'),
  });
  expect(await stage.sql('SELECT 1 FROM onefold.acts WHERE event_key LIKE $1', [`%${endpoint}%`])).toEqual([]);
});

test("a delivery that nobody knows is publication_unknown, another tenant's too", async () => {
  const delivery = await sent(500, 'acme');
  const { publication, endpoint } = delivery;
  for (const name of [
    { publication, endpoint },
    { publication, endpoint, tenant: 'other' },
    { publication: 'nobody:knows', endpoint, tenant: 'acme' },
  ]) {
    await expect(replayDelivery(context(), name, bob)).rejects.toMatchObject({ code: 'publication_unknown' });
  }
  const other = stage.onefold.tenant('other');
  await expect(other.resend({ publication, endpoint }, bob)).rejects.toMatchObject({ code: 'publication_unknown' });
  await expect(other.delivery({ publication, endpoint })).rejects.toMatchObject({ code: 'publication_unknown' });
  expect(await other.deliveries({ endpoint })).toEqual({ items: [] });
  expect((await stage.onefold.tenant('acme').resend({ publication, endpoint }, bob)).outcome).toBe('started');
  await stage.end(endpoint, publication, 'acme');
});

test('the id of an act of another delivery is refused', async () => {
  const mine = await sent(500);
  await replayDelivery(context(), mine, { ...bob, id: `mine-${mine.publication}` });
  const { id: other } = await stage.endpoint(receiver.url);
  const { publication } = await stage.publish();
  await stage.end(other, publication);
  await expect(
    replayDelivery(context(), { publication, endpoint: other }, { ...bob, id: `mine-${mine.publication}` }),
  ).rejects.toMatchObject({ code: 'replay_refused', message: expect.stringContaining(mine.key) });
});

test.each([
  ['by', { by: ' ' }],
  ['reason', { reason: '' }],
  ['id', { id: ' ' }],
])('a blank %s is refused before anything is looked at', async (_what, blank) => {
  const wish = replayDelivery(context(), { publication: 'p', endpoint: 'ep_1' }, { ...bob, ...blank });
  await expect(wish).rejects.toMatchObject({ code: 'replay_refused' });
});

test('a dry run changes no row and starts nothing', async () => {
  const delivery = await sent(500);
  const tables = ['publications', 'publication_deliveries', 'publication_attempts', 'dead_letters', 'acts'];
  const checksum = () =>
    Promise.all(
      tables.map((table) =>
        stage.sql(`SELECT md5(coalesce(string_agg(r::text, '|' ORDER BY r::text), '')) AS sum FROM onefold.${table} r`),
      ),
    );
  const before = await checksum();
  expect(await replayDelivery(context(), delivery, { ...bob, dryRun: true })).toMatchObject({ outcome: 'dry_run' });
  expect(await checksum()).toEqual(before);
  expect(receiver.of(delivery.eventId)).toHaveLength(1);
});

test('a terminated delivery that no sweep has come by is sent again', async () => {
  const { id: endpoint } = await stage.endpoint(receiver.url, { schedule: ['1 hour'] });
  receiver.answer((_request, nth) => (nth === 1 ? 503 : 200));
  const { publication, eventId } = await stage.publish();
  await until('it pauses', async () => (await stage.row(endpoint, publication)).last_code === 'http_503');
  await stage.handle(endpoint, publication).terminate('an operator');
  const replayed = await replayDelivery(context(), { publication, endpoint }, bob);
  expect(replayed).toMatchObject({ outcome: 'started', state: { ledger: 'started', temporal: 'terminated' } });
  expect(await stage.end(endpoint, publication)).toMatchObject({ outcome: 'delivered' });
  expect(receiver.of(eventId)).toHaveLength(2);
});

test('a publication is sent again to the endpoints that it was dead-lettered for, or to all', async () => {
  const other = await startScriptedReceiver();
  const good = await stage.endpoint(receiver.url);
  const bad = await stage.endpoint(other.url, { schedule: [] });
  other.answer(() => 500);
  const { publication, eventId } = await stage.publish();
  await stage.end(good.id, publication);
  await stage.end(bad.id, publication);
  other.answer(() => 200);
  const wish = { ...bob, id: `both-${randomUUID()}` };
  const replayed = await replayPublication(context(), { publication }, wish);
  expect(replayed).toMatchObject({
    id: wish.id,
    outcome: 'replayed',
    deliveries: [{ endpoint: bad.id, id: `${wish.id}/${bad.id}`, outcome: 'started' }],
  });
  await stage.end(bad.id, publication);
  expect([receiver.of(eventId).length, other.of(eventId).length]).toEqual([1, 2]);
  expect(await replayPublication(context(), { publication }, wish)).toEqual(replayed);

  const all = await replayPublication(context(), { publication }, { ...bob, all: true });
  expect(all.deliveries.map(({ endpoint, outcome }) => [endpoint, outcome]).sort()).toEqual(
    [
      [good.id, 'started'],
      [bad.id, 'started'],
    ].sort(),
  );
  await stage.end(good.id, publication);
  await stage.end(bad.id, publication);
  expect([receiver.of(eventId).length, other.of(eventId).length]).toEqual([2, 3]);
  await other.close();
});

test('a replay of a publication that is broken off answers under which id it goes on, and what was started', async () => {
  receiver.answer(() => 500);
  const endpoints = [];
  for (let n = 0; n < 9; n++) endpoints.push((await stage.endpoint(receiver.url, { schedule: [] })).id);
  const { publication, eventId } = await stage.publish();
  for (const endpoint of endpoints) await stage.end(endpoint, publication);
  receiver.answer(() => 200);
  const { ledger } = context();
  let pages = 0;
  const query: Sql = (text, values) => {
    if (text.includes('endpoint > $3') && ++pages === 2) throw new Error('Connection terminated');
    return ledger.database.query(text, values);
  };
  const breaking = withLedger(context(), () => ({ ...ledger, database: { ...ledger.database, query } }));
  const broken = await replayPublication(breaking, { publication }, bob);
  expect(broken).toMatchObject({ outcome: 'interrupted', because: { message: 'Connection terminated' } });
  expect(broken.deliveries).toHaveLength(8);
  const rest = await replayPublication(context(), { publication }, { ...bob, id: broken.id });
  expect(rest.outcome).toBe('replayed');
  expect(rest.deliveries.map(({ outcome }) => outcome)).toEqual(Array(9).fill('started'));
  for (const endpoint of endpoints) await stage.end(endpoint, publication);
  expect(receiver.of(eventId)).toHaveLength(18);
});

test('a publication that nobody knows is publication_unknown', async () => {
  await expect(replayPublication(context(), { publication: 'nobody:knows' }, bob)).rejects.toMatchObject({
    code: 'publication_unknown',
  });
});
