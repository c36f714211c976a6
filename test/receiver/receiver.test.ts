import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { OnefoldError } from '../../src/errors.js';
import { connectClient } from '../../src/runtime/temporal.js';
import type { HeaderMap } from '../../src/sources/source.js';
import { type OpenReceiver, openReceiver } from './support/receiver-harness.js';
import { secret, shop, signed } from './support/sources.js';
import { unusedLedger } from './support/unused-ledger.js';

// No event here has a subscriber, so that Temporal is never asked.
const temporal = connectClient({ address: '127.0.0.1:1', environment: {} });
const seen = { type: 'order.seen' };
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(...made: ReturnType<typeof shop>[]): Promise<OpenReceiver> {
  const opened = await openReceiver({ sources: made, temporal, ledger: unusedLedger(), taskQueue: 'none' });
  closing.push(async () => {
    await opened.receiver.close();
    await opened.http.close();
  });
  return opened;
}

test('two sources of one name are refused when the receiver is made', async () => {
  await expect(open(shop(), shop())).rejects.toThrow(OnefoldError);
});

test('each delivery leaves one line that names it, and no body, secret or header', async () => {
  const made = shop();
  const { send, lines } = await open(made);
  await send('shop', signed(made.source, 'msg_1', { ...seen, data: 'planted-body' }), {
    'x-planted': 'planted-header',
  });
  await send('shop', { ...signed(made.source, 'msg_1', { ...seen, data: 'planted-body' }), body: Buffer.from('{}') });
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatchObject({
    level: 'info',
    msg: 'webhook.claim',
    eventKey: 'event//shop/msg_1',
    event: 'shop/msg_1',
    source: 'shop',
    tenant: '',
    type: 'order.seen',
    path: 'ignored',
    status: 200,
    digest: expect.stringMatching(/^[0-9a-f]{16}$/),
    bodyDiffers: false,
    ms: expect.any(Number),
  });
  expect(lines[1]).toMatchObject({
    level: 'warn',
    msg: 'webhook.refused',
    code: 'signature_mismatch',
    reason: 'signature_mismatch',
    source: 'shop',
    status: 401,
  });
  expect(JSON.stringify(lines)).not.toMatch(new RegExp(`planted|${secret.slice(6)}|v1,`));
});

test('a defect is told to the log by place and not by words, and to the caller not at all', async () => {
  const made = shop('shop', {
    tenant: () => {
      throw new TypeError('planted-words of a payload');
    },
  });
  const { send, lines } = await open(made);
  const answer = await send('shop', signed(made.source, 'msg_1', seen));
  expect(answer.status).toBe(500);
  const defect = lines.find(({ msg }) => msg === 'webhook.internal_error');
  expect(defect).toMatchObject({ level: 'error', name: 'TypeError', source: 'shop' });
  expect(defect?.stack).toContain('receiver.test.ts');
  expect(JSON.stringify([lines, answer.text])).not.toContain('planted');
});

test('secrets that are missing are our fault: 500, and the log names the variable', async () => {
  const made = shop('shop', { secrets: { variable: 'ONEFOLD_TEST_ABSENT' } } as never);
  const { send, lines } = await open(made);
  const { headers, body } = signed(shop().source, 'msg_1', seen);
  expect((await send('shop', { headers, body })).json.code).toBe('internal_error');
  const defect = lines.find(({ msg }) => msg === 'webhook.internal_error');
  expect(defect).toMatchObject({ code: 'config_missing', reason: expect.stringContaining('ONEFOLD_TEST_ABSENT') });
});

test('a flood of refused requests writes 20 lines a second and source, and says how many it left out', async () => {
  const made = shop();
  const { send, lines, metrics } = await open(made);
  const forged = { ...signed(made.source, 'msg_1', seen), body: Buffer.from('{}') };
  await Promise.all(Array.from({ length: 90 }, () => send('shop', forged)));
  await expect.poll(() => lines.some(({ suppressed }) => suppressed !== undefined), { timeout: 3_000 }).toBe(true);
  const written = lines.filter(({ code }) => code !== undefined).length;
  const suppressed = lines.reduce((sum, line) => sum + Number(line.suppressed ?? 0), 0);
  expect(written + suppressed).toBe(90);
  expect(written).toBeLessThanOrEqual(60);
  const refused = await metrics.refused.get();
  expect(refused.values).toMatchObject([{ value: 90, labels: { source: 'shop', code: 'signature_mismatch' } }]);
});

test('unknown paths share one metric label', async () => {
  const made = shop();
  const { send, metrics } = await open(made);
  for (const name of ['a', 'b', 'c%00']) await send(name, signed(made.source, 'msg_1', seen));
  const answers = await metrics.answers.get();
  expect(answers.values).toMatchObject([{ value: 3, labels: { source: '(unknown)', status: '404' } }]);
});

test.each([
  ['blank', '   '],
  ['long', 't'.repeat(101)],
  ['one with NUL', 'a\0b'],
  ['not text', '\ud800'],
])('a tenant that is %s is refused', async (_, tenant) => {
  const made = shop('shop', { tenant: () => tenant });
  const { send } = await open(made);
  expect((await send('shop', signed(made.source, 'msg_1', seen))).json.code).toBe('identity_invalid');
});

test('ids travel in the header percent-encoded, long ones as their hash, and whole in the body', async () => {
  const made = shop();
  const { send } = await open(made);
  const odd = await send('shop', signed(made.source, 'a/b ~c', seen));
  expect(odd.headers.get('onefold-event')).toBe('shop/a%2Fb%20%7Ec');
  expect(odd.json.event).toBe('shop/a/b ~c');
  const long = await send('shop', signed(made.source, 'x'.repeat(900), seen));
  expect(long.headers.get('onefold-event')).toMatch(/^shop\/~[0-9a-f]{64}$/);
  expect(long.json.event).toHaveLength(905);
});

test.each([
  [200, true],
  [204, false],
])('a source may fix its success status to %i', async (successStatus, hasBody) => {
  const made = shop('shop', { successStatus });
  const { send } = await open(made);
  const answer = await send('shop', signed(made.source, 'msg_1', seen));
  expect(answer.status).toBe(successStatus);
  expect(answer.headers.get('onefold-path')).toBe('ignored');
  expect(answer.text !== '').toBe(hasBody);
});

test('the wrong method is told the right one', async () => {
  const { http } = await open(shop());
  const answer = await fetch(`${http.url}/shop`);
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('POST');
});

test('deeper paths are left to the application', async () => {
  const { http } = await open(shop());
  const answer = await fetch(`${http.url}/shop/deeper`, { method: 'POST' });
  expect(answer.headers.get('content-type')).toContain('text/html');
});

test('a header that came in several lines reaches the source line by line', async () => {
  const made = shop();
  let seenHeaders: HeaderMap = {};
  const verify: typeof made.source.verify = (given, context) => {
    seenHeaders = given.headers;
    return made.source.verify(given, context);
  };
  const { http } = await open({ ...made, source: { ...made.source, verify } });
  const { headers, body } = signed(made.source, 'msg_1', seen);
  await new Promise<void>((resolve, reject) => {
    const sent = request(`${http.url}/shop`, { method: 'POST' });
    for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
    sent.setHeader('x-lines', ['one, still one', 'two']);
    sent.once('error', reject).once('response', (response) => response.resume().once('end', resolve));
    sent.end(body);
  });
  expect(seenHeaders['x-lines']).toEqual(['one, still one', 'two']);
});

test('the web-standard handler gives the same answers', async () => {
  const made = shop();
  const { receiver } = await open(made);
  const { headers, body } = signed(made.source, 'msg_1', seen);
  const post = (name: string) =>
    receiver.fetch(
      new Request(`http://host/deep/mount/${name}`, { method: 'POST', headers, body: new Uint8Array(body) }),
    );
  const answer = await post('shop');
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ event: 'shop/msg_1', path: 'ignored' });
  expect((await post('other')).status).toBe(404);
  const used = new Request('http://host/shop', { method: 'POST', headers, body: new Uint8Array(body) });
  await used.text();
  expect(await (await receiver.fetch(used)).json()).toMatchObject({ code: 'body_already_parsed' });
});

test('a drained web-standard handler answers 503', async () => {
  const made = shop();
  const { receiver } = await open(made);
  await receiver.drain();
  const answer = await receiver.fetch(new Request('http://host/shop', { method: 'POST', body: '{}' }));
  expect(answer.status).toBe(503);
  expect(answer.headers.get('connection')).toBeNull();
});
