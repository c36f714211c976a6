import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../src/runtime/embedded/free-port.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { until } from '../hazards/support/until.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
beforeAll(async () => {
  stage = await createCliStage();
});
afterAll(() => stage?.close());

const root = (url: string, path: string) => new URL(path, url).href;

test.concurrent('a receiver says where it listens, answers its probes and counts what it answered', async () => {
  const metricsPort = await freePort(0);
  const receiver = await stage.receiver({ env: { ONEFOLD_METRICS_PORT: String(metricsPort) } });
  expect((await fetch(root(receiver.url, '/healthz'))).status).toBe(200);
  await expect
    .poll(async () => (await fetch(root(receiver.url, '/readyz'))).json(), { timeout: 30_000 })
    .toEqual({ status: 'ready', draining: false, temporal: true });
  expect((await fetch(root(receiver.url, '/readyz'))).status).toBe(200);
  expect(await stage.deliver(receiver.url, randomUUID())).toMatchObject({ status: 202, path: 'first_run' });
  expect((await fetch(root(receiver.url, '/metrics'))).status).toBe(404);
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  expect(metrics).toContain('onefold_deliveries_total{source="shop",path="first_run"} 1');
  expect(metrics).toContain('onefold_acknowledge_seconds_bucket');
});

test.concurrent('a receiver starts while Temporal is away: alive, not ready, and every delivery is answered 503', async () => {
  const receiver = await stage.receiver({ env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  expect((await fetch(root(receiver.url, '/healthz'))).status).toBe(200);
  const ready = await fetch(root(receiver.url, '/readyz'));
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', draining: false, temporal: false }]);
  expect(await stage.deliver(receiver.url, randomUUID())).toMatchObject({
    status: 503,
    json: { code: 'temporal_unavailable' },
  });
});

test.concurrent.each([
  [
    'a missing secret',
    { SHOP_WEBHOOK_SECRETS: undefined },
    /^onefold: config_missing: source 'shop' .*SHOP_WEBHOOK_SECRETS/,
  ],
  [
    'a secret that is no key',
    { SHOP_WEBHOOK_SECRETS: 'whsec_%%%%' },
    /^onefold: secret_invalid: source 'shop'.*SHOP_WEBHOOK_SECRETS/,
  ],
  ['no database', { DATABASE_URL: undefined }, /^onefold: config_missing: DATABASE_URL/],
])('%s stops the start of a receiver with a sentence that names it', async (_what, env, message) => {
  const { code, stderr } = await stage.run(['receiver', '--port', '0'], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain('%%%%');
});

test.concurrent('a port that is taken is refused, and the way to another is told', async () => {
  const receiver = await stage.receiver();
  const { port } = new URL(receiver.url);
  const { code, stderr } = await stage.run(['receiver', '--host', '127.0.0.1', '--port', port]);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^onefold: config_invalid: port ${port} on 127.0.0.1 is taken: .*ONEFOLD_PORT`));
});

test.concurrent.each([
  ['that is not there', undefined, /^onefold: config_missing: no configuration at /],
  ['that exports nothing', 'export const other = 1;', /^onefold: config_invalid: .*does not export `onefold`/],
  [
    'that exports something else',
    'export const onefold = {};',
    /^onefold: config_invalid: .*does not export `onefold`/,
  ],
])('a configuration %s is refused', async (_what, text, message) => {
  const file = join(stage.folder, `${randomUUID()}.mjs`);
  if (text !== undefined) await writeFile(file, text);
  const { code, stderr } = await stage.run(['receiver', '--config', text === undefined ? 'nowhere.ts' : file]);
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
});

test.concurrent('a configuration that does not load ends with the place of the error', async () => {
  const file = join(stage.folder, 'broken.ts');
  await writeFile(file, "const count: number = 1;\nthrow new RangeError('count ' + count);\nexport {};\n");
  const { code, stderr } = await stage.run(['worker', '--config', file]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^onefold: RangeError: count 1\n {4}at .*broken\.ts:2/);
});

const shop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.paid': types<unknown>() },
});

/** What became of a request: its status, or how its connection ended without one. */
function send(url: string, id: string, agent: Agent): Promise<{ id: string; status?: number; error?: string }> {
  const body = Buffer.from(JSON.stringify({ type: 'order.paid', data: { order: id } }));
  const headers = shop.preset.sign({ body, id, type: 'order.paid', now: new Date() });
  return new Promise((resolve) => {
    const sent = request(`${url}/shop`, {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
    });
    sent.once('error', (error: NodeJS.ErrnoException) => resolve({ id, error: String(error.code) }));
    sent.once('response', (response) => {
      response.resume();
      response.once('close', () => resolve({ id, status: response.statusCode ?? 0 }));
    });
    sent.end(body);
  });
}

test('SIGTERM under load: what was accepted is answered, what was not answered was never taken', async () => {
  const receiver = await stage.receiver();
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const results: { id: string; status?: number; error?: string }[] = [];
  let loading = true;
  const providers = Array.from({ length: 16 }, async () => {
    while (loading) results.push(await send(receiver.url, randomUUID(), agent));
  });
  await until('some answers', () => results.length > 100);
  const { code, ms } = await receiver.stop();
  const atEnd = results.length;
  await until('refused connections', () => results.length > atEnd + 16);
  loading = false;
  await Promise.all(providers);
  agent.destroy();

  expect(code).toBe(0);
  expect(ms).toBeLessThan(5000);
  const accepted = results.filter(({ status }) => status === 202);
  const unanswered = results.filter(({ error }) => error !== undefined);
  expect(accepted.length).toBeGreaterThan(100);
  expect(new Set(results.map(({ status, error }) => status ?? error))).not.toContain(500);
  const known = async (id: string) =>
    stage.client.workflow
      .getHandle(`event//shop/${id}`)
      .describe()
      .then(
        () => true,
        () => false,
      );
  for (const { id } of accepted) expect(await known(id)).toBe(true);
  // Refused by the operating system, or reset before the receiver had read it.
  for (const { id } of unanswered.slice(0, 200)) expect(await known(id)).toBe(false);
  const rows = await stage.sql("SELECT count(*)::int AS rows FROM onefold.deliveries WHERE path = 'first_run'");
  expect(rows[0]?.rows).toBeGreaterThanOrEqual(accepted.length);
  expect(receiver.lines.at(-1)?.msg).toBe('receiver.stopped');
});

test('a connection that brings no request does not hold a stopping receiver', async () => {
  const receiver = await stage.receiver();
  const { hostname, port } = new URL(receiver.url);
  const silent = connect(Number(port), hostname);
  const half = connect(Number(port), hostname);
  await Promise.all([once(silent, 'connect'), once(half, 'connect')]);
  half.write('POST /webhooks/shop HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf');
  for (const socket of [silent, half]) socket.on('error', () => {});
  const { code, ms } = await receiver.stop();
  expect(code).toBe(0);
  expect(ms).toBeLessThan(6000);
});

test('a second signal ends a process that is still draining', async () => {
  const receiver = await stage.receiver();
  const { hostname, port } = new URL(receiver.url);
  const half = connect(Number(port), hostname).on('error', () => {});
  await once(half, 'connect');
  half.write('POST /webhooks/shop HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf');
  await until('the request', async () => (await fetch(root(receiver.url, '/healthz'))).ok);
  receiver.child.kill('SIGTERM');
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect((await receiver.stop('SIGTERM')).code).toBe(130);
});
