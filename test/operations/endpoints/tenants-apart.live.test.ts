import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointsApi } from '../../../src/operations/endpoints/tenant-endpoints.js';
import { codeOf, createEndpointsStage, type EndpointsStage } from './support/endpoints-stage.js';

let stage: EndpointsStage;
beforeAll(async () => {
  stage = await createEndpointsStage();
});
afterAll(() => stage?.close());

const least = { url: 'https://93.184.215.14/hooks', types: ['*'] };

/** Every row that has to do with endpoints, as PostgreSQL writes it. */
async function everything(): Promise<unknown> {
  const tables = ['endpoints', 'endpoint_secrets', 'endpoint_slots', 'endpoint_pace'];
  const rows = await Promise.all(
    tables.map((table) => stage.sql(`SELECT t::text AS row FROM onefold.${table} t ORDER BY t::text`)),
  );
  return rows.map((list) => list.map(({ row }) => row));
}

/** Everything that names one endpoint by its id. */
const acts: readonly (readonly [name: string, act: (api: EndpointsApi, id: string) => Promise<unknown>])[] = [
  ['get', (api, id) => api.get(id)],
  ['show', (api, id) => api.show(id)],
  ['update', (api, id) => api.update(id, { url: 'https://93.184.215.14/evil', headers: {}, concurrency: 1 })],
  ['pause', (api, id) => api.pause(id)],
  ['resume', (api, id) => api.resume(id)],
  ['disable', (api, id) => api.disable(id)],
  ['enable', (api, id) => api.enable(id)],
  ['rotateSecret', (api, id) => api.rotateSecret(id, { overlap: 0 })],
  ['remove', (api, id) => api.remove(id)],
  ['test', (api, id) => api.test(id)],
];

test('the acts are all that take an id', () => {
  const others = ['create', 'list', 'whoSubscribes'];
  expect([...acts.map(([name]) => name), ...others].sort()).toEqual(Object.keys(stage.of('a')).sort());
});

test.each(acts)(
  '%s: another tenant, and none, is told that there is no such endpoint, and nothing changes',
  async (_name, act) => {
    const { id } = (await stage.of('b').create({ ...least, headers: { 'x-a': '1' }, rateLimit: 5 })).endpoint;
    const before = await everything();
    for (const tenant of ['a', '', 'B', 'b ', '%', 'b%']) {
      const error = await act(stage.of(tenant), id).then(
        () => undefined,
        (thrown: Error & { code?: string }) => thrown,
      );
      expect(error?.code).toBe('endpoint_unknown');
      // Word for word what an id says that nobody has.
      const nobody = await act(stage.of(tenant), 'ep_nobody').catch((thrown: Error) => thrown);
      expect(error?.message.replace(id, 'ep_nobody')).toBe((nobody as Error).message);
    }
    expect(await everything()).toEqual(before);
  },
);

test.each(acts)(
  '%s: of two tenants with the same id, only the one that is named is read or changed',
  async (name, act) => {
    const { id } = (await stage.of('b').create({ ...least, headers: { 'x-a': '1' }, rateLimit: 5 })).endpoint;
    await stage.sql("UPDATE onefold.endpoints SET url = 'https://127.0.0.1:1/hooks' WHERE tenant = 'b' AND id = $1", [
      id,
    ]);
    // Nobody can be given the same id; whoever restores or copies tables may have made it so.
    for (const [table, column] of [
      ['endpoints', 'id'],
      ['endpoint_slots', 'endpoint'],
      ['endpoint_pace', 'endpoint'],
    ]) {
      await stage.sql(
        `INSERT INTO onefold.${table} SELECT (jsonb_populate_record(t, '{"tenant": "a"}')).*
       FROM onefold.${table} t WHERE tenant = 'b' AND ${column} = $1`,
        [id],
      );
    }
    const ofB = async () =>
      (await stage.sql("SELECT t::text AS row FROM onefold.endpoints t WHERE tenant = 'b' AND id = $1", [id])).concat(
        await stage.sql("SELECT t::text AS row FROM onefold.endpoint_secrets t WHERE tenant = 'b' AND endpoint = $1", [
          id,
        ]),
        await stage.sql(
          "SELECT t::text AS row FROM onefold.endpoint_slots t WHERE tenant = 'b' AND endpoint = $1 ORDER BY 1",
          [id],
        ),
        await stage.sql("SELECT t::text AS row FROM onefold.endpoint_pace t WHERE tenant = 'b' AND endpoint = $1", [
          id,
        ]),
      );
    const before = await ofB();
    const outcome = await act(stage.of('a'), id).then(
      (answer) => ({ answer }),
      (thrown: Error & { code?: string }) => ({ code: thrown.code }),
    );
    // A copy has no secret of its own, and headers that were sealed for another tenant do not open.
    if (name === 'test') expect(outcome).toEqual({ code: 'secret_unreadable' });
    else expect(outcome).toHaveProperty('answer');
    if (name === 'get') expect(outcome).toMatchObject({ answer: { tenant: 'a' } });
    expect(await ofB()).toEqual(before);
  },
);

test('lists, filters, counts and dry runs hold what the tenant has and nothing else', async () => {
  const a = stage.of('list-a');
  const b = stage.of('list-b');
  const own = (await a.create(least)).endpoint;
  const others = [];
  for (let n = 0; n < 3; n++) others.push((await b.create(least)).endpoint);
  await b.pause(others[0]?.id as string);
  expect((await a.list()).items).toEqual([own]);
  expect((await a.list({ state: 'paused' })).items).toEqual([]);
  expect((await a.list({ type: 'order.paid' })).items).toEqual([own]);
  expect((await a.whoSubscribes('order.paid')).map(({ id }) => id)).toEqual([own.id]);
  // A cursor of the other tenant is only a place in the order.
  const { next } = await b.list({ limit: 1 });
  expect((await a.list({ cursor: next as string })).items.every(({ tenant }) => tenant === 'list-a')).toBe(true);
});

test('attempts and dead letters of another tenant are not counted, though it has an endpoint of the same id', async () => {
  const api = stage.of('count-a');
  const { id } = (await api.create(least)).endpoint;
  await stage.sql(
    `INSERT INTO onefold.publication_attempts
       (id, tenant, publication, endpoint, run_id, attempt, endpoint_version, lease_until)
     VALUES (gen_random_uuid(), 'count-b', 'order:1', $1, 'run', 1, 1, now())`,
    [id],
  );
  await stage.sql(
    `INSERT INTO onefold.dead_letters
       (tenant, event_key, source, event_id, type, code, message, input, effects, runs, kind)
     VALUES ('count-b', 'key', $1, 'p', 't', 'c', 'm', '{}', '[]', '{}', 'delivery')`,
    [id],
  );
  await stage.sql(
    `INSERT INTO onefold.endpoint_secrets (tenant, endpoint, id, sealed, sealed_by)
     VALUES ('count-b', $1, gen_random_uuid(), '', 'k1')`,
    [id],
  );
  expect(await api.show(id)).toMatchObject({ attempts: [], openDeadLetters: 0, secrets: [{}] });
});

test('the number of endpoints that a tenant may have is not used up by others', async () => {
  await stage.sql(
    `INSERT INTO onefold.endpoints (tenant, id, url, types, concurrency, state)
     SELECT 'full', 'ep_' || n, 'https://93.184.215.14/', '{*}', 1, CASE WHEN n = 1 THEN 'removed' ELSE 'enabled' END
     FROM generate_series(1, 10000) n`,
  );
  const last = await stage.of('full').create(least);
  expect(await codeOf(stage.of('full').create(least))).toBe('endpoint_invalid');
  expect(await codeOf(stage.of('').create(least))).toBe('it was carried out');
  await stage.of('full').remove(last.endpoint.id);
  expect(await codeOf(stage.of('full').create(least))).toBe('it was carried out');
});
