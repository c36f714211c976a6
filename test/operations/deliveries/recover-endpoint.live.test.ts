import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/ledger/database.js';
import { operationsContext, withLedger } from '../../../src/operations/context.js';
import {
  type RecoverOptions,
  type RecoverProgress,
  recoverEndpoint,
} from '../../../src/operations/deliveries/recover-endpoint.js';
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

const context = () => stage.onefold[operationsContext];
const longAgo = new Date(0);
const bob: RecoverOptions = { by: 'bob', reason: 'they are back', since: longAgo };

/** An endpoint that missed so many publications, and is well again. */
async function missed(many: number, tenant = ''): Promise<{ endpoint: string; eventIds: string[] }> {
  receiver.answer(() => 404);
  const { id: endpoint } = await stage.endpoint(receiver.url, { tenant });
  const published = await Promise.all(Array.from({ length: many }, () => stage.publish(undefined, tenant)));
  for (const { publication } of published) await stage.end(endpoint, publication, tenant);
  receiver.answer(() => 200);
  return { endpoint, eventIds: published.map(({ eventId }) => eventId) };
}

async function states(endpoint: string): Promise<Record<string, number>> {
  const rows = await stage.sql<{ state: string; count: number }>(
    'SELECT state, count(*)::int AS count FROM onefold.publication_deliveries WHERE endpoint = $1 GROUP BY state',
    [endpoint],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

const settled = (endpoint: string, delivered: number) =>
  until(`${delivered} delivered`, async () => (await states(endpoint)).delivered === delivered);

test('everything that an endpoint missed is sent again, once, under its webhook-ids', async () => {
  const { endpoint, eventIds } = await missed(19);
  const progress: RecoverProgress[] = [];
  const dry = await recoverEndpoint(context(), { endpoint }, { ...bob, dryRun: true });
  expect(dry).toMatchObject({ found: 19, started: 0, outcome: 'dry_run', endpointState: 'enabled' });
  expect(await states(endpoint)).toEqual({ dead_lettered: 19 });

  const wish = { ...bob, id: `recover-${randomUUID()}` };
  const recovered = await recoverEndpoint(
    context(),
    { endpoint },
    { ...wish, onProgress: (now) => void progress.push(now) },
  );
  expect(recovered).toMatchObject({ found: 19, started: 19, lostRace: 0, refused: 0, outcome: 'recovered' });
  expect(progress.map(({ started }) => started)).toEqual([8, 16, 19]);
  await settled(endpoint, 19);
  for (const eventId of eventIds) expect(receiver.of(eventId)).toHaveLength(2);

  // The same command again finds nothing left of its set.
  expect(await recoverEndpoint(context(), { endpoint }, wish)).toMatchObject({ started: 0, outcome: 'recovered' });
  expect(receiver.requests).toHaveLength(2 * 19);
  const acts = await stage.sql(
    `SELECT event_key, actor, outcome FROM onefold.acts WHERE kind = 'recover' AND id = $1`,
    [wish.id],
  );
  expect(acts).toEqual([{ event_key: `endpoint//${endpoint}`, actor: 'bob', outcome: 'recovered' }]);
});

test('the set is frozen by the act: what its own replays end as is not sent a third time by the same command', async () => {
  const { endpoint } = await missed(3);
  receiver.answer(() => 404);
  const wish = { ...bob, id: `frozen-${randomUUID()}` };
  expect(await recoverEndpoint(context(), { endpoint }, wish)).toMatchObject({ started: 3 });
  await until('all rejected again', () => receiver.requests.length === 6);
  await until('all dead-lettered again', async () => (await states(endpoint)).dead_lettered === 3);
  expect(await recoverEndpoint(context(), { endpoint }, wish)).toMatchObject({ started: 0, outcome: 'recovered' });
  expect(receiver.requests).toHaveLength(6);
  // Another wish is another set.
  expect(await recoverEndpoint(context(), { endpoint }, bob)).toMatchObject({ found: 3, started: 3 });
  await until('all rejected once more', () => receiver.requests.length === 9);
});

test('it starts no more while the endpoint has two hundred before it, says so, and goes on when there are fewer', async () => {
  const { endpoint } = await missed(9);
  await stage.sql(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state, started_at)
     SELECT '', 'before:' || n, $1, 'started', now() FROM generate_series(1, 200) n`,
    [endpoint],
  );
  const progress: RecoverProgress[] = [];
  const recovering = recoverEndpoint(context(), { endpoint }, { ...bob, onProgress: (now) => void progress.push(now) });
  await until('it waits', () => progress.filter(({ waitingFor }) => (waitingFor ?? 0) >= 200).length >= 2);
  expect(progress.at(-1)).toMatchObject({ found: 9, started: 0 });
  await stage.sql(`DELETE FROM onefold.publication_deliveries WHERE endpoint = $1 AND publication LIKE 'before:%'`, [
    endpoint,
  ]);
  expect(await recovering).toMatchObject({ started: 9, outcome: 'recovered' });
  await settled(endpoint, 9);
});

test('its own deliveries that nobody has sent yet are before the endpoint too, and one disabled meanwhile ends it', async () => {
  const { endpoint } = await missed(9);
  await stage.onefold.endpoints.update(endpoint, { rateLimit: 0.1 });
  const { ledger } = context();
  let counted = 0;
  const query: Sql = async (text, values) => {
    const answer = await ledger.database.query(text, values);
    if (!text.includes('AS unsent')) return answer as never;
    const [row] = answer.rows as { unsent: number }[];
    counted = row?.unsent ?? 0;
    if (counted === 0) return answer as never;
    await stage.onefold.endpoints.disable(endpoint);
    return { ...answer, rows: [{ unsent: 200 }] } as never;
  };
  const stuck = withLedger(context(), () => ({ ...ledger, database: { ...ledger.database, query } }));
  expect(await recoverEndpoint(stuck, { endpoint }, bob)).toMatchObject({
    started: 8,
    outcome: 'interrupted',
    because: { code: 'replay_refused' },
  });
  // One goes at once; the others wait for their turn, or have not been taken up.
  expect(counted).toBeGreaterThanOrEqual(7);
});

test('since and until bound the time of the end', async () => {
  const { endpoint } = await missed(1);
  const [{ ended_at: endedAt } = { ended_at: new Date() }] = await stage.sql(
    'SELECT ended_at FROM onefold.publication_deliveries WHERE endpoint = $1',
    [endpoint],
  );
  const dry = (bounds: Partial<RecoverOptions>) =>
    recoverEndpoint(context(), { endpoint }, { ...bob, ...bounds, dryRun: true });
  expect(await dry({ since: new Date(endedAt.getTime() - 1) })).toMatchObject({ found: 1 });
  expect(await dry({ since: new Date(endedAt.getTime() + 1) })).toMatchObject({ found: 0 });
  expect(await dry({ until: new Date(endedAt.getTime() - 1) })).toMatchObject({ found: 0 });
  expect(await dry({ until: new Date(endedAt.getTime() + 1) })).toMatchObject({ found: 1 });
});

test('broken off, it says so, and the same id carries on where it stopped, whatever since says then', async () => {
  const { endpoint, eventIds } = await missed(20);
  const { ledger } = context();
  let pages = 0;
  const query: Sql = (text, values) => {
    if (text.includes('(ended_at, publication) >') && ++pages === 2) throw new Error('Connection terminated');
    return ledger.database.query(text, values);
  };
  const breaking = withLedger(context(), () => ({ ...ledger, database: { ...ledger.database, query } }));
  const wish = { ...bob, id: `broken-${randomUUID()}` };
  expect(await recoverEndpoint(breaking, { endpoint }, wish)).toMatchObject({
    id: wish.id,
    started: 8,
    outcome: 'interrupted',
    because: { message: 'Connection terminated' },
  });
  await settled(endpoint, 8);
  const recovered = await recoverEndpoint(context(), { endpoint }, { ...wish, since: new Date() });
  expect(recovered).toMatchObject({ since: longAgo, started: 12, outcome: 'recovered' });
  await settled(endpoint, 20);
  for (const eventId of eventIds) expect(receiver.of(eventId)).toHaveLength(2);
});

test('a disabled endpoint is refused until it is enabled, a removed one for good, an unknown one as such', async () => {
  const { endpoint } = await missed(1);
  await stage.onefold.endpoints.disable(endpoint);
  await expect(recoverEndpoint(context(), { endpoint }, bob)).rejects.toMatchObject({
    code: 'replay_refused',
    message: expect.stringContaining('enable it first'),
  });
  await stage.onefold.endpoints.enable(endpoint);
  expect(await recoverEndpoint(context(), { endpoint }, bob)).toMatchObject({ started: 1 });
  await settled(endpoint, 1);
  await stage.onefold.endpoints.remove(endpoint);
  await expect(recoverEndpoint(context(), { endpoint }, bob)).rejects.toMatchObject({ code: 'replay_refused' });
  await expect(recoverEndpoint(context(), { endpoint: 'ep_nobody' }, bob)).rejects.toMatchObject({
    code: 'endpoint_unknown',
  });
});

test('another tenant recovers nothing, with the same id guessed', async () => {
  const { endpoint } = await missed(1, 'acme');
  for (const tenant of ['', 'other']) {
    await expect(recoverEndpoint(context(), { tenant, endpoint }, bob)).rejects.toMatchObject({
      code: 'endpoint_unknown',
    });
  }
  expect(await states(endpoint)).toEqual({ dead_lettered: 1 });
});

test('the id of another act is refused, and a time that is none', async () => {
  const { endpoint } = await missed(1);
  const { endpoint: other } = await missed(1);
  const wish = { ...bob, id: `taken-${randomUUID()}` };
  await recoverEndpoint(context(), { endpoint }, wish);
  await expect(recoverEndpoint(context(), { endpoint: other }, wish)).rejects.toMatchObject({ code: 'replay_refused' });
  await expect(
    recoverEndpoint(context(), { endpoint }, { ...bob, since: new Date('yesterday') }),
  ).rejects.toMatchObject({ code: 'request_invalid' });
});
