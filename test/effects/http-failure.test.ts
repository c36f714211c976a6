import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { afterEach, expect, test, vi } from 'vitest';
import { classifyFailure } from '../../src/effects/classify-failure.js';
import { HttpError, httpFailure } from '../../src/effects/http-failure.js';
import { provesNothingDone } from '../../src/effects/proves-nothing-done.js';

const servers: Server[] = [];

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(async () => {
  vi.useRealTimers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const refusing = (status: number, headers: Record<string, string> = {}) =>
  serve((_request, response) => response.writeHead(status, headers).end('the card 4242 was declined'));

test('a response of fetch becomes an error with its status and Retry-After, and without its body', async () => {
  const response = await fetch(await refusing(503, { 'Retry-After': '120' }));
  const failure = httpFailure(response);
  expect(failure).toBeInstanceOf(HttpError);
  expect(failure).toMatchObject({ name: 'HttpError', message: 'HTTP 503', status: 503, retryAfterMs: 120_000 });
  expect(JSON.stringify(failure) + failure.stack).not.toContain('4242');
  await response.body?.cancel();
});

test("a response of undici's request becomes the same", async () => {
  const response = await request(await refusing(429, { 'Retry-After': '7' }));
  expect(httpFailure(response)).toMatchObject({ message: 'HTTP 429', status: 429, retryAfterMs: 7000 });
  await response.body.dump();
});

test('Retry-After as a date is measured from now', () => {
  vi.useFakeTimers({ now: Date.parse('2026-02-03T04:05:06Z') });
  const headers = { 'retry-after': 'Tue, 03 Feb 2026 04:07:06 GMT' };
  expect(httpFailure({ status: 503, headers }).retryAfterMs).toBe(120_000);
});

test.each([
  ['no headers', undefined],
  ['no Retry-After', new Headers()],
  ['one that cannot be read', { 'retry-after': 'soon' }],
])('with %s there is no wish', (_what, headers) => {
  expect(httpFailure({ status: 503, ...(headers ? { headers } : {}) }).retryAfterMs).toBeUndefined();
});

test('of a Retry-After that came twice the longer one counts', () => {
  expect(httpFailure({ statusCode: 503, headers: { 'retry-after': ['3', 'soon', '5'] } }).retryAfterMs).toBe(5000);
});

test.each([[{}], [{ status: 0 }], [{ status: 600 }], [{ status: 404.5 }], [{ statusCode: undefined }]])(
  '%j is no response',
  (response) => {
    expect(() => httpFailure(response)).toThrow(TypeError);
  },
);

test('the attempt fails with the code of the status and waits as asked', () => {
  const failure = httpFailure({ status: 503, headers: { 'retry-after': '120' } });
  expect(classifyFailure(failure, [])).toEqual({
    code: 'http_503',
    message: 'HTTP 503',
    permanent: false,
    counted: true,
    retryAfterMs: 120_000,
  });
});

test('a response after a followed redirect proves nothing, whatever its status', async () => {
  const url = await serve((incoming, response) => {
    if (incoming.url === '/gone') response.writeHead(404).end();
    else response.writeHead(303, { location: '/gone' }).end();
  });
  const followed = await fetch(`${url}/orders`, { method: 'POST' });
  const direct = await fetch(`${url}/gone`, { method: 'POST' });
  expect(provesNothingDone(httpFailure(followed))).toBe(false);
  expect(provesNothingDone(httpFailure(direct))).toBe(true);
});
