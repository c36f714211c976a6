import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantEndpoints } from '../../../src/operations/endpoints/tenant-endpoints.js';
import { egressRules } from '../../../src/runtime/egress-rules.js';
import { until } from '../../hazards/support/until.js';
import { codeOf, createEndpointsStage, type EndpointsStage, startReceiver } from './support/endpoints-stage.js';

let stage: EndpointsStage;
beforeAll(async () => {
  stage = await createEndpointsStage();
});
afterAll(() => stage?.close());

const least = { url: 'https://93.184.215.14/hooks', types: ['order.*'] };
const slotsOf = async (id: string): Promise<number[]> =>
  (await stage.sql('SELECT slot FROM onefold.endpoint_slots WHERE endpoint = $1 ORDER BY slot', [id])).map(
    ({ slot }) => slot,
  );
const pacesOf = async (id: string): Promise<number> =>
  (await stage.sql('SELECT FROM onefold.endpoint_pace WHERE endpoint = $1', [id])).length;
const linesOf = (id: string) => stage.lines.filter(({ endpoint }) => endpoint === id);

test('a new endpoint is enabled, has as many slots as requests it takes at once, and no pace without a rate limit', async () => {
  const { endpoint, secret, resolved } = await stage.of('').create({ ...least, concurrency: 3 }, { by: 'ann' });
  expect(endpoint).toMatchObject({
    tenant: '',
    id: expect.stringMatching(/^ep_[0-9a-hjkmnp-tv-z]{24}$/),
    url: 'https://93.184.215.14/hooks',
    description: '',
    types: ['order.*'],
    headerNames: [],
    concurrency: 3,
    atMostOnce: false,
    state: 'enabled',
    version: 1,
  });
  expect(secret).toMatch(/^whsec_/);
  expect(resolved).toBe(true);
  expect(await slotsOf(endpoint.id)).toEqual([1, 2, 3]);
  expect(await pacesOf(endpoint.id)).toBe(0);
  expect(await stage.of('').get(endpoint.id)).toEqual(endpoint);
  expect(linesOf(endpoint.id)).toEqual([
    expect.objectContaining({ msg: 'endpoint.created', tenant: '', version: 1, types: ['order.*'], by: 'ann' }),
  ]);
});

test('a URL is kept in the form in which it was judged', async () => {
  const api = stage.of('');
  const { endpoint } = await api.create({ ...least, url: 'HTTPS://93.184.215.14/語' });
  expect(endpoint.url).toBe('https://93.184.215.14/%E8%AA%9E');
  const changed = await api.update(endpoint.id, { url: 'https://93.184.215.14./ü' });
  expect(changed.endpoint.url).toBe('https://93.184.215.14/%C3%BC');
  expect(await codeOf(api.update(endpoint.id, { url: `https://93.184.215.14/${'語'.repeat(500)}` }))).toBe(
    'destination_refused',
  );
});

test('what the operator allows, a tenant is not let into', async () => {
  const receiver = await startReceiver(204);
  const inside = { ...least, url: receiver.url };
  const deps = { ...stage.deps, egressRules: egressRules(['127.0.0.1'], 'test') };
  const operators = tenantEndpoints(deps, '');
  const own = await operators.create(inside);
  expect(await operators.update(own.endpoint.id, { url: `${receiver.url}/other` })).toMatchObject({ resolved: true });
  expect(await operators.test(own.endpoint.id)).toMatchObject({ decision: 'delivered' });

  const tenants = tenantEndpoints(deps, 'inside');
  expect(await codeOf(tenants.create(inside))).toBe('destination_refused');
  const { id } = (await tenants.create(least)).endpoint;
  expect(await codeOf(tenants.update(id, { url: receiver.url }))).toBe('destination_refused');
  // As one from before the rule.
  await stage.sql('UPDATE onefold.endpoints SET url = $2 WHERE id = $1', [id, receiver.url]);
  expect(await tenants.test(id)).toMatchObject({ decision: 'rejected', code: 'destination_refused' });
  expect(receiver.requests).toHaveLength(1);
  await receiver.close();
});

test('every setting is kept, and headers only by name', async () => {
  const { endpoint } = await stage.of('').create({
    ...least,
    types: ['order.paid', '*'],
    description: 'the shop\u0000',
    headers: { 'X-Shop': 'one', Authorization: 'Bearer two' },
    rateLimit: 2.5,
    timeout: '5 seconds',
    schedule: ['1 second', '30 days'],
    maximumElapsed: '30 days',
    atMostOnce: true,
  });
  expect(await stage.of('').get(endpoint.id)).toMatchObject({
    types: ['order.paid', '*'],
    description: 'the shop\ufffd',
    headerNames: ['authorization', 'x-shop'],
    rateLimit: 2.5,
    timeoutMs: 5_000,
    pausesMs: [1_000, 2_592_000_000],
    elapsedMs: 2_592_000_000,
    atMostOnce: true,
  });
  expect(await pacesOf(endpoint.id)).toBe(1);
});

test('the same URL twice is two endpoints, and their ids come in the order of their creation', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    ids.push((await stage.of('order').create(least)).endpoint.id);
    // Within one millisecond, chance decides.
    await sleep(2);
  }
  expect(new Set(ids).size).toBe(5);
  expect((await stage.of('order').list()).items.map(({ id }) => id)).toEqual(ids);
});

test.each([
  ['http', 'http://93.184.215.14/hooks'],
  ['a private address', 'https://10.0.0.1/hooks'],
  ['an address of metadata', 'https://169.254.169.254/latest/meta-data'],
  ['a credential in the URL', 'https://user:password@93.184.215.14/hooks'],
])('%s is refused at registration and at a change, and nothing is written', async (_what, url) => {
  const { endpoint } = await stage.of('ssrf').create(least);
  expect(await codeOf(stage.of('ssrf').create({ ...least, url }))).toBe('destination_refused');
  expect(await codeOf(stage.of('ssrf').update(endpoint.id, { url }))).toBe('destination_refused');
  expect(await stage.of('ssrf').get(endpoint.id)).toEqual(endpoint);
  await stage.of('ssrf').remove(endpoint.id);
  expect((await stage.of('ssrf').list()).items).toEqual([]);
});

test('a name that has no address yet is taken, and said to have none', async () => {
  const created = await stage.of('').create({ ...least, url: 'https://nobody.invalid/hooks' });
  expect(created.resolved).toBe(false);
  expect(await stage.of('').update(created.endpoint.id, { url: 'https://nobody.invalid/other' })).toMatchObject({
    resolved: false,
    endpoint: { url: 'https://nobody.invalid/other' },
  });
});

test('a change is the next version, touches what it names alone, and keeps slots and pace in step', async () => {
  const { endpoint } = await stage.of('').create({ ...least, concurrency: 5, description: 'stays', timeout: 5000 });
  const { id } = endpoint;
  const wider = await stage.of('').update(id, { concurrency: 8, rateLimit: 5 }, { by: 'bob', reason: 'they asked' });
  expect(wider.endpoint).toMatchObject({
    version: 2,
    concurrency: 8,
    rateLimit: 5,
    description: 'stays',
    timeoutMs: 5000,
  });
  expect(await slotsOf(id)).toHaveLength(8);
  expect(await pacesOf(id)).toBe(1);
  const narrower = await stage.of('').update(id, { concurrency: 2, rateLimit: null, timeout: null });
  expect(narrower.endpoint).toMatchObject({ version: 3, concurrency: 2 });
  expect(narrower.endpoint).not.toHaveProperty('rateLimit');
  expect(narrower.endpoint).not.toHaveProperty('timeoutMs');
  expect(await slotsOf(id)).toEqual([1, 2]);
  expect(await pacesOf(id)).toBe(0);
  expect(linesOf(id)[1]).toMatchObject({
    msg: 'endpoint.updated',
    version: 2,
    changed: ['concurrency', 'rateLimit'],
    by: 'bob',
    reason: 'they asked',
  });
});

test('headers are replaced whole, left alone where nothing is said, and deleted by an empty set', async () => {
  const { endpoint } = await stage.of('').create({ ...least, headers: { 'x-a': '1', 'x-b': '2' } });
  const update = async (changes: Parameters<ReturnType<EndpointsStage['of']>['update']>[1]) =>
    (await stage.of('').update(endpoint.id, changes)).endpoint.headerNames;
  expect(await update({ description: 'other' })).toEqual(['x-a', 'x-b']);
  expect(await update({ headers: { 'x-c': '3' } })).toEqual(['x-c']);
  expect(await update({ headers: {} })).toEqual([]);
  const [row] = await stage.sql('SELECT headers, headers_key FROM onefold.endpoints WHERE id = $1', [endpoint.id]);
  expect(row).toEqual({ headers: null, headers_key: null });
});

test('changes at the same time all count, and leave as many slots as the last one says', async () => {
  const { endpoint } = await stage.of('').create(least);
  const { id } = endpoint;
  await Promise.all(
    Array.from({ length: 24 }, (_, n) =>
      stage.of('').update(id, { concurrency: 1 + ((n * 7) % 19), rateLimit: n + 1 }),
    ),
  );
  const after = await stage.of('').get(id);
  expect(after.version).toBe(25);
  expect(await slotsOf(id)).toEqual(Array.from({ length: after.concurrency }, (_, n) => n + 1));
  expect(await pacesOf(id)).toBe(1);
});

test('a request that is under way keeps no change waiting, and its slot counts until it ends', async () => {
  const { endpoint } = await stage.of('').create({ ...least, concurrency: 3 });
  await stage.sql(
    `UPDATE onefold.endpoint_slots SET held_by = gen_random_uuid(), lease_until = now() + interval '1 hour'
     WHERE endpoint = $1`,
    [endpoint.id],
  );
  await stage.of('').update(endpoint.id, { concurrency: 2 });
  const held = await stage.sql('SELECT held_by FROM onefold.endpoint_slots WHERE endpoint = $1', [endpoint.id]);
  expect(held).toHaveLength(3);
  expect(held.every(({ held_by }) => held_by !== null)).toBe(true);
  await stage.sql("UPDATE onefold.endpoint_slots SET held_by = NULL, lease_until = '-infinity' WHERE endpoint = $1", [
    endpoint.id,
  ]);
  await stage.of('').update(endpoint.id, { concurrency: 1 });
  expect(await slotsOf(endpoint.id)).toEqual([1]);
});

type Move = 'pause' | 'resume' | 'disable' | 'enable';
/** From a state, by a move, to a state or a refusal; see `move-endpoint.ts`. */
const moves: readonly (readonly [from: string, move: Move, to: string])[] = [
  ['enabled', 'pause', 'paused'],
  ['enabled', 'resume', 'enabled'],
  ['enabled', 'disable', 'disabled'],
  ['enabled', 'enable', 'enabled'],
  ['paused', 'pause', 'paused'],
  ['paused', 'resume', 'enabled'],
  ['paused', 'disable', 'disabled'],
  ['paused', 'enable', 'endpoint_paused'],
  ['disabled', 'pause', 'endpoint_disabled'],
  ['disabled', 'resume', 'endpoint_disabled'],
  ['disabled', 'disable', 'disabled'],
  ['disabled', 'enable', 'enabled'],
];
test.each(moves)('an endpoint that is %s, asked to %s: %s', async (from, move, to) => {
  const api = stage.of('');
  const { id } = (await api.create(least)).endpoint;
  if (from === 'paused') await api.pause(id);
  if (from === 'disabled') await api.disable(id);
  const before = await api.get(id);
  if (to.startsWith('endpoint_')) {
    expect(await codeOf(api[move](id))).toBe(to);
    expect(await api.get(id)).toEqual(before);
    return;
  }
  const after = await api[move](id, { by: 'ann', reason: 'the shelf is full' });
  expect(after.state).toBe(to);
  expect(after.version).toBe(from === to ? before.version : before.version + 1);
  expect(await api.get(id)).toEqual(after);
  if (from === to && to === 'enabled') return;
  if (to === 'enabled') expect(after).not.toHaveProperty('stateReason');
  else expect(after).toMatchObject({ stateCode: 'by_owner', stateReason: 'the shelf is full' });
  expect(linesOf(id).at(-1)).toMatchObject({ version: after.version, by: 'ann', reason: 'the shelf is full' });
});

test('each move is an act with who and why, and the same act again changes nothing', async () => {
  const api = stage.of('');
  const { id } = (await api.create(least)).endpoint;
  const act = { by: 'ann', reason: 'the shelf is full', id: `act-${id}` };
  const paused = await api.pause(id, act);
  await api.resume(id, { by: 'bob' });
  const again = await api.pause(id, act);
  expect(paused.state).toBe('paused');
  expect(again.state).toBe('enabled');
  const acts = await stage.sql('SELECT kind, actor, reason, seen FROM onefold.acts WHERE event_key = $1 ORDER BY at', [
    `endpoint//${id}`,
  ]);
  expect(acts).toMatchObject([
    { kind: 'pause', actor: 'ann', reason: 'the shelf is full' },
    { kind: 'resume', actor: 'bob', reason: '' },
  ]);
  expect(JSON.parse(acts[1]?.seen)).toMatchObject({ state: 'paused', stateReason: 'the shelf is full' });
  expect(await codeOf(api.disable(id, act))).toBe('endpoint_invalid');
  expect((await api.get(id)).state).toBe('enabled');
});

test('what disabled an endpoint is told, and enabling it or giving it another URL forgets how it fared', async () => {
  const api = stage.of('');
  const { id } = (await api.create(least)).endpoint;
  const fail = () =>
    stage.sql(
      `UPDATE onefold.endpoints SET state = 'disabled', state_code = 'endpoint_failing', state_reason = 'for 5 days',
         failing_since = now() - interval '5 days', notices = 2 WHERE id = $1`,
      [id],
    );
  const notices = async () =>
    (await stage.sql('SELECT notices FROM onefold.endpoints WHERE id = $1', [id]))[0]?.notices;
  await fail();
  expect(await api.get(id)).toMatchObject({
    state: 'disabled',
    stateCode: 'endpoint_failing',
    failingSince: expect.any(Date),
  });
  expect((await api.update(id, { description: 'other' })).endpoint).toHaveProperty('failingSince');
  const elsewhere = await api.update(id, { url: 'https://93.184.215.14/other' });
  expect(elsewhere.endpoint).toMatchObject({ state: 'disabled', stateCode: 'endpoint_failing' });
  expect(elsewhere.endpoint).not.toHaveProperty('failingSince');
  await fail();
  const enabled = await api.enable(id);
  expect(enabled.state).toBe('enabled');
  for (const gone of ['failingSince', 'stateCode', 'stateReason']) expect(enabled).not.toHaveProperty(gone);
  expect(await notices()).toBe(0);
});

test.each([
  ['new headers', (id: string) => stage.of('').update(id, { headers: { authorization: 'Bearer right' } }), true],
  ['no headers any more', (id: string) => stage.of('').update(id, { headers: {} }), true],
  ['another secret', (id: string) => stage.of('').rotateSecret(id), true],
  ['another description', (id: string) => stage.of('').update(id, { description: 'ours' }), false],
] as const)(
  'an endpoint is given %s: only what may have been wrong forgets how it fared',
  async (_what, change, afresh) => {
    const { id } = (await stage.of('').create(least)).endpoint;
    await stage.sql(
      `UPDATE onefold.endpoints SET failing_since = clock_timestamp() - interval '4 days', notices = 2 WHERE id = $1`,
      [id],
    );
    await change(id);
    const rows = await stage.sql('SELECT failing_since IS NULL AS fine, notices FROM onefold.endpoints WHERE id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ fine: afresh, notices: afresh ? 0 : 2 }]);
  },
);

test('a removed endpoint keeps its row and nothing that only sending needs, is not listed, and takes no change', async () => {
  const api = stage.of('removal');
  const { id } = (await api.create({ ...least, headers: { 'x-a': '1' }, rateLimit: 5 })).endpoint;
  const removed = await api.remove(id, { by: 'ann', reason: 'the customer left' });
  expect(removed).toMatchObject({ state: 'removed', stateReason: 'the customer left', headerNames: [], version: 2 });
  expect(await api.get(id)).toEqual(removed);
  expect((await api.list()).items).toEqual([]);
  expect((await api.list({ state: 'removed' })).items).toEqual([removed]);
  for (const table of ['endpoint_secrets', 'endpoint_slots', 'endpoint_pace']) {
    expect(await stage.sql(`SELECT FROM onefold.${table} WHERE endpoint = $1`, [id])).toEqual([]);
  }
  expect(await stage.sql('SELECT FROM onefold.endpoints WHERE id = $1 AND headers IS NOT NULL', [id])).toEqual([]);
  for (const again of [
    () => api.update(id, { concurrency: 2 }),
    () => api.pause(id),
    () => api.resume(id),
    () => api.disable(id),
    () => api.enable(id),
    () => api.rotateSecret(id),
    () => api.remove(id),
    () => api.test(id),
  ]) {
    expect(await codeOf(again())).toBe('endpoint_removed');
  }
});

test('what no endpoint has as its id is unknown, whatever it is', async () => {
  for (const id of ['', 'ep_1', 'ep_\0', "' OR true --", '\ud800', undefined as unknown as string]) {
    expect(await codeOf(stage.of('').get(id))).toBe('endpoint_unknown');
    expect(await codeOf(stage.of('').pause(id))).toBe('endpoint_unknown');
  }
});

test('pages follow each other without gap or repetition, and filters hold on all of them', async () => {
  const api = stage.of('pages');
  const made: string[] = [];
  for (let n = 0; n < 7; n++) {
    const types = n % 2 === 0 ? ['order.*'] : ['invoice.paid', 'endpoint.*'];
    made.push((await api.create({ ...least, types })).endpoint.id);
  }
  await api.pause(made[0] as string);
  const all = async (filter: Parameters<typeof api.list>[0]): Promise<string[]> => {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await api.list({ ...filter, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.items.length).toBeLessThanOrEqual(2);
      found.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);
    return found;
  };
  expect((await all({})).sort()).toEqual([...made].sort());
  expect(await all({ state: 'paused' })).toEqual([made[0]]);
  expect(await all({ type: 'order.paid.late' })).toHaveLength(4);
  expect(await all({ type: 'invoice.paid' })).toHaveLength(3);
  expect(await all({ type: 'invoice.sent' })).toEqual([]);
  expect(await all({ type: 'endpoint.failing', state: 'enabled' })).toHaveLength(3);
});

test('a last page that is full says that it is the last', async () => {
  const api = stage.of('full-page');
  for (let n = 0; n < 2; n++) await api.create(least);
  expect(await api.list({ limit: 2 })).not.toHaveProperty('next');
});

test.each([
  ['a cursor of nobody', { cursor: 'bm8' }],
  ['a cursor that is none', { cursor: '%' }],
  ['a page of none', { limit: 0 }],
  ['a page of too many', { limit: 201 }],
  ['a state that is none', { state: 'off' as never }],
  ['a type with NUL', { type: 'order\0' }],
  ['a blank type', { type: '' }],
])('of a list, %s is request_invalid', async (_what, filter) => {
  expect(await codeOf(stage.of('').list(filter))).toBe('request_invalid');
});

test('a filter that is none is refused by name', async () => {
  expect(await codeOf(stage.of('').list({ states: 'enabled' } as never))).toBe('config_invalid');
});

test.each([undefined, null, 'text', []])(
  '%j in place of settings, of changes or of an act is endpoint_invalid',
  async (given) => {
    const api = stage.of('');
    const { endpoint } = await api.create(least);
    const none = given as never;
    expect(await codeOf(api.create(none))).toBe('endpoint_invalid');
    expect(await codeOf(api.update(endpoint.id, none))).toBe('endpoint_invalid');
    if (given === undefined) return;
    expect(await codeOf(api.pause(endpoint.id, none))).toBe('endpoint_invalid');
    expect(await codeOf(api.rotateSecret(endpoint.id, none))).toBe('endpoint_invalid');
  },
);

test('who would get a type is told with the pattern that matches, held ones too and removed ones not', async () => {
  const api = stage.of('dry-run');
  const exact = (await api.create({ ...least, types: ['order.paid', 'order.*'] })).endpoint.id;
  const star = (await api.create({ ...least, types: ['*'] })).endpoint.id;
  const told = (await api.create({ ...least, types: ['endpoint.*'] })).endpoint.id;
  const gone = (await api.create({ ...least, types: ['*'] })).endpoint.id;
  await api.remove(gone);
  await api.disable(star);
  const byId = async (type: string) =>
    Object.fromEntries((await api.whoSubscribes(type)).map(({ id, state, matched }) => [id, [state, ...matched]]));
  expect(await byId('order.paid')).toEqual({
    [exact]: ['enabled', 'order.paid', 'order.*'],
    [star]: ['disabled', '*'],
  });
  expect(await byId('endpoint.failing')).toEqual({ [told]: ['enabled', 'endpoint.*'] });
  expect(await codeOf(api.whoSubscribes('order.*'))).toBe('publication_invalid');
});

test('how an endpoint fares is shown: latest attempts, when secrets end, open dead letters', async () => {
  const api = stage.of('fares');
  const { id } = (await api.create(least)).endpoint;
  await api.rotateSecret(id, { overlap: '1 hour' });
  for (let n = 1; n <= 12; n++) {
    await stage.sql(
      `INSERT INTO onefold.publication_attempts
         (id, tenant, publication, endpoint, run_id, attempt, endpoint_version, started_at, lease_until, ended, code, status)
       VALUES (gen_random_uuid(), 'fares', $1, $2, 'run', $3, 1, now() - $4 * interval '1 minute', now(), $5, $6, $7)`,
      [`order:${n}`, id, 1, 12 - n, n === 12 ? null : 'retry', n === 12 ? null : 'http_503', n === 12 ? null : 503],
    );
  }
  const letter = (kind: string, closed: string | null, source: string) =>
    stage.sql(
      `INSERT INTO onefold.dead_letters
         (tenant, event_key, source, event_id, type, code, message, input, effects, runs, closed_at, kind)
       VALUES ('fares', gen_random_uuid()::text, $1, 'p', 't', 'c', 'm', '{}', '[]', '{}', $2::timestamptz, $3)`,
      [source, closed, kind],
    );
  await letter('delivery', null, id);
  await letter('delivery', null, id);
  await letter('delivery', '2026-01-01', id);
  await letter('delivery', null, 'ep_other');
  await letter('event', null, id);
  const details = await api.show(id);
  expect(details.openDeadLetters).toBe(2);
  expect(details.attempts.map(({ publication }) => publication)).toEqual(
    Array.from({ length: 10 }, (_, n) => `order:${12 - n}`),
  );
  expect(details.attempts[0]).toEqual({ publication: 'order:12', attempt: 1, startedAt: expect.any(Date) });
  expect(details.attempts[1]).toMatchObject({ ended: 'retry', code: 'http_503', status: 503 });
  expect(details.secrets).toHaveLength(2);
  expect(details.secrets[0]).not.toHaveProperty('expiresAt');
  expect(details.secrets[1]).toHaveProperty('expiresAt');
});

test('every change wakes the relays, and what changes nothing does not', async () => {
  const client = new pg.Client({ connectionString: stage.databaseUrl });
  await client.connect();
  let woken = 0;
  client.on('notification', () => {
    woken += 1;
  });
  await client.query('LISTEN onefold_outbox_onefold');
  const api = stage.of('');
  const wakes = async (work: () => Promise<unknown>): Promise<void> => {
    const before = woken;
    await work();
    await until('the relays are woken', () => woken === before + 1 || undefined);
  };
  try {
    let id = '';
    await wakes(async () => {
      id = (await api.create(least)).endpoint.id;
    });
    await wakes(() => api.update(id, { description: 'd' }));
    await wakes(() => api.pause(id));
    await wakes(() => api.resume(id));
    await wakes(() => api.disable(id));
    await wakes(() => api.enable(id));
    await wakes(() => api.rotateSecret(id));
    const before = woken;
    await api.enable(id);
    await wakes(() => api.remove(id));
    expect(woken).toBe(before + 1);
  } finally {
    await client.end();
  }
});

test('an act that is none is refused, a long reason is cut, and a line break in it cannot forge a line', async () => {
  const api = stage.of('');
  const { id } = (await api.create(least)).endpoint;
  expect(await codeOf(api.pause(id, { why: 'x' } as never))).toBe('endpoint_invalid');
  expect(await codeOf(api.pause(id, { by: 7 } as never))).toBe('endpoint_invalid');
  const paused = await api.pause(id, { reason: `\0${'r'.repeat(600)}` });
  expect(paused.stateReason).toHaveLength(500);
  await api.resume(id, { reason: 'one\ntwo' });
  expect(linesOf(id).at(-1)).toMatchObject({ reason: 'one\ntwo' });
});

test('a tenant that is none is refused before anything is opened', () => {
  for (const tenant of [' ', 'a\0', 'a'.repeat(61), 7 as unknown as string]) {
    expect(() => stage.of(tenant)).toThrowError(expect.objectContaining({ code: 'identity_invalid' }));
  }
});

test('a ledger that is not there says so, and what to do', async () => {
  await stage.sql('CREATE SCHEMA empty');
  const { ledger } = stage.deps;
  const { tenantEndpoints } = await import('../../../src/operations/endpoints/tenant-endpoints.js');
  const api = tenantEndpoints({ ...stage.deps, ledger: { ...ledger, schema: '"empty"' as typeof ledger.schema } }, '');
  for (const work of [() => api.create(least), () => api.list(), () => api.get('ep_1'), () => api.pause('ep_1')]) {
    expect(await codeOf(work())).toBe('migration_missing');
  }
});
