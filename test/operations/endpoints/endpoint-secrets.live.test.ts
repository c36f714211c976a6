import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { rekeySecrets } from '../../../src/operations/endpoints/rekey-secrets.js';
import { tenantEndpoints } from '../../../src/operations/endpoints/tenant-endpoints.js';
import {
  codeOf,
  createEndpointsStage,
  type EndpointsStage,
  sealingKey,
  startReceiver,
  type TestReceiver,
} from './support/endpoints-stage.js';

const first = sealingKey('k1');
const second = sealingKey('k2');
let stage: EndpointsStage;
let receiver: TestReceiver;
beforeAll(async () => {
  stage = await createEndpointsStage(first);
  receiver = await startReceiver(200);
});
afterEach(() => stage.sql('TRUNCATE onefold.endpoints, onefold.endpoint_secrets'));
afterAll(async () => {
  await receiver?.close();
  await stage?.close();
});

const settings = () => ({ url: receiver.url, types: ['*'], headers: { authorization: 'Bearer planted-credential' } });
const secretOf = (fill: number): string => `whsec_${Buffer.alloc(32, fill).toString('base64')}`;

/** Every column of every table as text, bytes both in hex and as characters. */
async function dump(): Promise<string> {
  const columns = await stage.sql(
    `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns WHERE table_schema = 'onefold'`,
  );
  const texts = await Promise.all(
    columns.map(({ table, column }) =>
      stage.sql(
        `SELECT "${column}"::text || CASE WHEN pg_typeof("${column}") = 'bytea'::regtype
                                          THEN encode("${column}"::text::bytea, 'escape') ELSE '' END AS text
         FROM onefold."${table}"`,
      ),
    ),
  );
  return texts
    .flat()
    .map(({ text }) => text ?? '')
    .join('\n');
}

/** The forms in which a text may stand in a dump. */
const formsOf = (text: string): string[] => [
  text,
  Buffer.from(text).toString('hex'),
  Buffer.from(text).toString('base64').replace(/=+$/, '').slice(0, -2),
];

test('no secret and no value of a header stands in a dump of the database, nor in the log', async () => {
  const own = secretOf(200);
  const planted = 'planted-credential';
  const api = stage.of('acme');
  const { endpoint, secret } = await api.create(settings());
  const second = await api.create({ ...settings(), secret: own });
  const rotated = await api.rotateSecret(endpoint.id);
  await api.update(second.endpoint.id, { headers: { 'x-key': `${planted}-2` } });
  await api.test(endpoint.id);
  const dumped = await dump();
  const logged = JSON.stringify(stage.lines);
  expect(dumped).toContain(endpoint.id);
  expect(dumped).toContain('x-key');
  for (const text of [secret, own, rotated.secret].map((one) => one.slice('whsec_'.length))) {
    const key = Buffer.from(text, 'base64');
    for (const form of [...formsOf(text), key.toString('hex')]) {
      expect(dumped).not.toContain(form);
      expect(logged).not.toContain(form);
    }
  }
  for (const form of formsOf(planted)) {
    expect(dumped).not.toContain(form);
    expect(logged).not.toContain(form);
  }
});

test('the dump would show a secret that was not sealed', async () => {
  const { endpoint } = await stage.of('').create(settings());
  await stage.sql(
    "UPDATE onefold.endpoint_secrets SET sealed = convert_to('whsec_in_the_clear', 'UTF8') WHERE endpoint = $1",
    [endpoint.id],
  );
  const dumped = await dump();
  expect(formsOf('whsec_in_the_clear').some((form) => dumped.includes(form))).toBe(true);
});

test('no answer but that of its making shows a secret, and none the value of a header', async () => {
  const api = stage.of('acme');
  const { endpoint, secret } = await api.create(settings());
  const rotated = await api.rotateSecret(endpoint.id);
  const shown = JSON.stringify([
    endpoint,
    rotated.endpoint,
    await api.get(endpoint.id),
    await api.list(),
    await api.show(endpoint.id),
    (await api.update(endpoint.id, { description: 'd' })).endpoint,
    await api.pause(endpoint.id),
    await api.test(endpoint.id),
    await api.remove(endpoint.id),
  ]);
  for (const text of [secret, rotated.secret, 'planted-credential']) expect(shown).not.toContain(text);
});

const verifies = (secret: string): boolean => {
  const request = receiver.requests.at(-1);
  try {
    new Webhook(secret).verify(request?.body.toString() ?? '', request?.headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};

test('until the overlap is over the former secret verifies beside the new one, and then only the new one', async () => {
  const api = stage.of('');
  const { endpoint, secret } = await api.create(settings());
  const rotated = await api.rotateSecret(endpoint.id, { overlap: 800, by: 'ann', reason: 'a yearly habit' });
  expect(rotated.endpoint.version).toBe(2);
  expect(rotated.formerUntil?.getTime()).toBeCloseTo(Date.now() + 800, -3);
  await api.test(endpoint.id);
  expect([verifies(secret), verifies(rotated.secret)]).toEqual([true, true]);
  expect(receiver.requests.at(-1)?.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
  await sleep(900);
  await api.test(endpoint.id);
  expect([verifies(secret), verifies(rotated.secret)]).toEqual([false, true]);
  expect(
    stage.lines.find(({ msg, endpoint: id }) => msg === 'endpoint.secret_rotated' && id === endpoint.id),
  ).toMatchObject({
    overlapMs: 800,
    by: 'ann',
    reason: 'a yearly habit',
  });
});

test.each([0, '0', '0 hours', '0s'])('an overlap of %j stops every former secret at once', async (overlap) => {
  const api = stage.of('');
  const { endpoint, secret } = await api.create(settings());
  const between = await api.rotateSecret(endpoint.id);
  const last = await api.rotateSecret(endpoint.id, { overlap });
  expect(last).not.toHaveProperty('formerUntil');
  await api.test(endpoint.id);
  expect([secret, between.secret, last.secret].map(verifies)).toEqual([false, false, true]);
  expect(await stage.sql('SELECT FROM onefold.endpoint_secrets WHERE endpoint = $1', [endpoint.id])).toHaveLength(1);
});

test('a later rotation lets no former secret live longer, and by default they sign for a day', async () => {
  const api = stage.of('');
  const { endpoint } = await api.create(settings());
  await api.rotateSecret(endpoint.id, { overlap: '1 hour' });
  await api.rotateSecret(endpoint.id);
  const { secrets } = await api.show(endpoint.id);
  const hours = secrets.map(({ expiresAt }) => expiresAt && Math.round((expiresAt.getTime() - Date.now()) / 3_600_000));
  expect(hours).toEqual([undefined, 24, 1]);
});

test('five secrets sign together, a sixth is refused without a trace, and an emergency always works', async () => {
  const api = stage.of('');
  const { endpoint } = await api.create(settings());
  for (let n = 0; n < 4; n++) await api.rotateSecret(endpoint.id);
  expect((await api.show(endpoint.id)).secrets).toHaveLength(5);
  const before = await stage.sql('SELECT id, expires_at FROM onefold.endpoint_secrets ORDER BY id');
  expect(await codeOf(api.rotateSecret(endpoint.id))).toBe('endpoint_invalid');
  expect(await stage.sql('SELECT id, expires_at FROM onefold.endpoint_secrets ORDER BY id')).toEqual(before);
  await api.rotateSecret(endpoint.id, { overlap: 0 });
  expect((await api.show(endpoint.id)).secrets).toHaveLength(1);
});

test('rotations at the same time each leave a secret that signs', async () => {
  const api = stage.of('');
  const { endpoint } = await api.create(settings());
  const rotated = await Promise.all(Array.from({ length: 4 }, () => api.rotateSecret(endpoint.id)));
  await api.test(endpoint.id);
  expect(rotated.map(({ secret }) => verifies(secret))).toEqual([true, true, true, true]);
});

test('a secret that the receiver brings is the one that signs', async () => {
  const api = stage.of('');
  const { endpoint, secret } = await api.create({ ...settings(), secret: secretOf(3) });
  expect(secret).toBe(secretOf(3));
  await api.test(endpoint.id);
  expect(verifies(secretOf(3))).toBe(true);
  expect((await api.rotateSecret(endpoint.id, { secret: secretOf(4), overlap: 0 })).secret).toBe(secretOf(4));
  await api.test(endpoint.id);
  expect(verifies(secretOf(4))).toBe(true);
});

test.each([
  ['an overlap that is none', { overlap: 'soon' }],
  ['an overlap below nothing', { overlap: -1 }],
  ['an overlap that is too long', { overlap: '31 days' }],
  ['a secret that is none', { secret: 'hunter2' }],
  ['an option that is none', { overlapp: 0 } as never],
])('%s is refused, and nothing is rotated', async (_what, options) => {
  const api = stage.of('');
  const { endpoint } = await api.create(settings());
  expect(await codeOf(api.rotateSecret(endpoint.id, options))).toBe('endpoint_invalid');
  expect((await api.get(endpoint.id)).version).toBe(1);
});

test('without keys an endpoint is neither created nor rotated, but read, paused and removed', async () => {
  const { endpoint } = await stage.of('').create(settings());
  const api = tenantEndpoints(stage.withKeys(undefined), '');
  expect(await codeOf(api.create(settings()))).toBe('config_missing');
  expect(await codeOf(api.rotateSecret(endpoint.id))).toBe('config_missing');
  expect(await codeOf(api.test(endpoint.id))).toBe('config_missing');
  expect((await api.list()).items).toEqual([endpoint]);
  expect((await api.pause(endpoint.id)).state).toBe('paused');
  expect((await api.remove(endpoint.id)).state).toBe('removed');
});

test('sealing anew puts everything under the first key, in every tenant, and again finds nothing to do', async () => {
  const made = [];
  for (let n = 0; n < 60; n++) made.push(await stage.of(`tenant-${n % 3}`).create(settings()));
  const deps = stage.withKeys(`${second},${first}`);
  // 60 secrets and 60 sets of headers: more than one batch.
  expect(await rekeySecrets(deps)).toEqual({ key: 'k2', resealed: 120, unreadable: 0, unreadablePlaces: [] });
  expect(await stage.sql('SELECT DISTINCT sealed_by FROM onefold.endpoint_secrets')).toEqual([{ sealed_by: 'k2' }]);
  expect(await stage.sql('SELECT DISTINCT headers_key FROM onefold.endpoints')).toEqual([{ headers_key: 'k2' }]);
  expect(await rekeySecrets(deps)).toMatchObject({ resealed: 0 });
  // The first key is gone: everything opens all the same, and no version was counted for it.
  const api = tenantEndpoints(stage.withKeys(second), 'tenant-1');
  const { endpoint, secret } = made[1] as (typeof made)[number];
  expect((await api.test(endpoint.id)).decision).toBe('delivered');
  expect(verifies(secret)).toBe(true);
  expect(receiver.requests.at(-1)?.headers.authorization).toBe('Bearer planted-credential');
  expect(await api.get(endpoint.id)).toEqual(endpoint);
});

test('two that seal anew at once, beside rotations, lose nothing', async () => {
  const api = stage.of('');
  const made = await Promise.all(Array.from({ length: 20 }, () => api.create(settings())));
  const deps = stage.withKeys(`${second},${first}`);
  const [one, other, ...rotated] = await Promise.all([
    rekeySecrets(deps),
    rekeySecrets(deps),
    ...made.map(({ endpoint }) => tenantEndpoints(deps, '').rotateSecret(endpoint.id)),
  ]);
  expect(one.resealed + other.resealed).toBe(40);
  const after = tenantEndpoints(stage.withKeys(second), '');
  for (const [n, { endpoint, secret }] of made.entries()) {
    await after.test(endpoint.id);
    expect([verifies(secret), verifies((rotated[n] as { secret: string }).secret)]).toEqual([true, true]);
  }
});

test('what no key opens is named and left as it is, and the rest is sealed anew', async () => {
  const kept = await stage.of('').create(settings());
  const lost = await tenantEndpoints(stage.withKeys(sealingKey('k0')), 'acme').create(settings());
  const report = await rekeySecrets(stage.withKeys(`${second},${first}`));
  expect(report).toMatchObject({ resealed: 2, unreadable: 2 });
  expect(report.unreadablePlaces).toEqual(
    expect.arrayContaining([
      { tenant: 'acme', endpoint: lost.endpoint.id, what: 'secret', key: 'k0' },
      { tenant: 'acme', endpoint: lost.endpoint.id, what: 'headers', key: 'k0' },
    ]),
  );
  const after = tenantEndpoints(stage.withKeys(second), '');
  expect((await after.test(kept.endpoint.id)).decision).toBe('delivered');
  const acme = tenantEndpoints(stage.withKeys(second), 'acme');
  expect(await codeOf(acme.test(lost.endpoint.id))).toBe('secret_unreadable');
  // What helps where the key is lost for good.
  await acme.update(lost.endpoint.id, { headers: {} });
  await acme.rotateSecret(lost.endpoint.id, { overlap: 0 });
  expect((await acme.test(lost.endpoint.id)).decision).toBe('delivered');
});
