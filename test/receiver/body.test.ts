import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import express, { type RequestHandler } from 'express';
import { afterEach, expect, test } from 'vitest';
import { connectClient } from '../../src/runtime/temporal.js';
import { type OpenReceiver, openReceiver } from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';
import { unusedLedger } from './support/unused-ledger.js';

// Temporal is never asked here: nobody subscribes to the type, so that a body which is taken is answered `ignored`.
const temporal = connectClient({ address: '127.0.0.1:1', environment: {} });
const limit = 1_000;
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(options: Parameters<typeof shop>[1] = {}, before: RequestHandler[] = []) {
  const { source, effects } = shop('shop', { bodyLimitBytes: limit, ...options });
  const opened = await openReceiver({
    sources: [{ source, effects }],
    temporal,
    ledger: unusedLedger(),
    taskQueue: 'none',
    before,
  });
  closing.push(async () => {
    await opened.receiver.close();
    await opened.http.close();
  });
  return { ...opened, source };
}

/** A body of exactly so many bytes. */
function bodyOf(bytes: number): Uint8Array {
  const frame = '{"type":"order.seen","data":""}';
  return Buffer.from(frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`));
}

/** Sends raw bytes over a socket of its own and reads until the server closes or answers whole. */
function raw({ http }: OpenReceiver, parts: readonly (string | Uint8Array)[]): Promise<string> {
  const { port, hostname } = new URL(http.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      answer += chunk;
    });
    socket.once('error', reject).once('close', () => resolve(answer));
    for (const part of parts) socket.write(part);
  });
}

function head(headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `POST /in/shop HTTP/1.1\r\nhost: test\r\n${lines.join('\r\n')}\r\n\r\n`;
}

test('a body of exactly the limit is taken, one byte more is refused with the limit named', async () => {
  const { send, source } = await open();
  expect((await send('shop', signed(source, 'msg_1', bodyOf(limit)))).json.path).toBe('ignored');
  const refused = await send('shop', signed(source, 'msg_2', bodyOf(limit + 1)));
  expect(refused.status).toBe(413);
  expect(refused.json.detail).toContain('1000 bytes');
  expect(refused.headers.get('connection')).toBe('close');
});

test('a body that announces more than the limit is refused before any of it arrives', async () => {
  const receiver = await open();
  const { headers } = signed(receiver.source, 'msg_1', bodyOf(limit + 1));
  const begun = performance.now();
  const answer = await raw(receiver, [head({ ...headers, 'content-length': '1001' })]);
  expect(answer).toMatch(/^HTTP\/1.1 413 /);
  expect(performance.now() - begun).toBeLessThan(2_000);
});

test('a chunked body is cut at the limit, answered 413, and its connection closed', async () => {
  const receiver = await open();
  const { headers } = signed(receiver.source, 'msg_1', bodyOf(limit));
  const chunk = `200\r\n${'x'.repeat(0x200)}\r\n`;
  // It never ends: only the limit can answer it.
  const answer = await raw(receiver, [head({ ...headers, 'transfer-encoding': 'chunked' }), chunk, chunk, chunk]);
  expect(answer).toMatch(/^HTTP\/1.1 413 /);
  expect(answer).toMatch(/connection: close/i);
});

test('a chunked body within the limit is taken', async () => {
  const receiver = await open();
  const body = bodyOf(0x200);
  const { headers } = signed(receiver.source, 'msg_1', body);
  const answer = await raw(receiver, [
    head({ ...headers, 'transfer-encoding': 'chunked', connection: 'close' }),
    `200\r\n`,
    body,
    '\r\n0\r\n\r\n',
  ]);
  expect(answer).toMatch(/^HTTP\/1.1 200 /);
});

test('a client that sends far too much still reads the 413', async () => {
  const { send, source } = await open();
  const answer = await send('shop', signed(source, 'msg_1', bodyOf(8 * 1024 * 1024)));
  expect(answer.status).toBe(413);
});

const encoders = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };

test.each(Object.entries(encoders))('a body in %s is verified as sent and read decompressed', async (name, encode) => {
  const { send, source } = await open();
  const plain = bodyOf(limit);
  const delivery = signed(source, 'msg_1', encode(plain));
  expect((await send('shop', delivery, { 'content-encoding': name })).json.path).toBe('ignored');
});

test("where the signature covers the decoded body, the wire's compression does not matter", async () => {
  const { send, source } = await open({ signed: 'decoded' });
  const { headers, body } = signed(source, 'msg_1', bodyOf(500));
  const answer = await send('shop', { headers, body: gzipSync(body) }, { 'content-encoding': 'gzip' });
  expect(answer.json.path).toBe('ignored');
  const wire = signed(source, 'msg_2', gzipSync(bodyOf(500)));
  expect((await send('shop', wire, { 'content-encoding': 'gzip' })).json.code).toBe('signature_mismatch');
});

test.each(['wire', 'decoded'] as const)('a bomb is refused at the limit, not unfolded (signed: %s)', async (covers) => {
  const { send, source } = await open({ signed: covers, bodyLimitBytes: 100_000 });
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  const delivery = signed(source, 'msg_1', bomb);
  const before = process.memoryUsage().arrayBuffers;
  const answer = await send('shop', delivery, { 'content-encoding': 'gzip' });
  expect(answer.status).toBe(413);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
});

test('the decompressed size is bounded from both sides', async () => {
  const { send, source } = await open();
  const over = signed(source, 'msg_1', gzipSync(bodyOf(limit + 1)));
  expect((await send('shop', over, { 'content-encoding': 'gzip' })).json.code).toBe('body_too_large');
});

test('a body that is not in the encoding it claims is malformed', async () => {
  const { send, source } = await open();
  const answer = await send('shop', signed(source, 'msg_1', bodyOf(100)), { 'content-encoding': 'gzip' });
  expect(answer.json.code).toBe('body_malformed');
});

test.each(['zstd', 'gzip, br', 'gzip, gzip'])(
  'the encoding %s is refused, and the readable ones named',
  async (name) => {
    const { send, source } = await open();
    const answer = await send('shop', signed(source, 'msg_1', bodyOf(100)), { 'content-encoding': name });
    expect(answer.status).toBe(415);
    expect(answer.headers.get('accept-encoding')).toBe('gzip, deflate, br');
  },
);

test('a stranger cannot make the receiver decompress: the signature is judged first', async () => {
  const { send, source } = await open();
  const { headers } = signed(source, 'msg_1', bodyOf(100));
  const answer = await send('shop', { headers, body: gzipSync(Buffer.alloc(100_000)) }, { 'content-encoding': 'gzip' });
  expect(answer.json.code).toBe('signature_mismatch');
});

test('behind express.json() the answer names the fix, and the log says it once as an error', async () => {
  const { send, source, lines } = await open({}, [express.json()]);
  for (const id of ['msg_1', 'msg_2']) {
    const answer = await send('shop', signed(source, id, bodyOf(100)));
    expect(answer.status).toBe(500);
    expect(answer.json.detail).toContain('express.json()');
  }
  expect(lines.filter(({ msg, level }) => msg === 'webhook.body_already_parsed' && level === 'error')).toHaveLength(1);
});

const keepsBytes: [string, RequestHandler][] = [
  ['express.raw', express.raw({ type: '*/*' })],
  [
    'express.json with a verify that keeps req.rawBody',
    express.json({
      verify: (request, _response, bytes) => {
        (request as { rawBody?: Buffer }).rawBody = bytes;
      },
    }),
  ],
];

test.each(keepsBytes)('behind %s the bytes are verified, and the limit holds', async (_name, middleware) => {
  const { send, source } = await open({}, [middleware]);
  expect((await send('shop', signed(source, 'msg_1', bodyOf(limit)))).json.path).toBe('ignored');
  expect((await send('shop', signed(source, 'msg_2', bodyOf(limit + 1)))).status).toBe(413);
});

test('behind a middleware that decompressed the body, a signature over the wire cannot be judged', async () => {
  const { send, source } = await open({}, [express.raw({ type: '*/*' })]);
  const answer = await send('shop', signed(source, 'msg_1', gzipSync(bodyOf(100))), { 'content-encoding': 'gzip' });
  expect(answer.json.code).toBe('body_already_parsed');
});

test('behind a middleware that decompressed the body, a signature over the decoded body holds', async () => {
  const { send, source } = await open({ signed: 'decoded' }, [express.raw({ type: '*/*' })]);
  const { headers, body } = signed(source, 'msg_1', bodyOf(100));
  const answer = await send('shop', { headers, body: gzipSync(body) }, { 'content-encoding': 'gzip' });
  expect(answer.json.path).toBe('ignored');
});

test('a parser that leaves the body alone is no hindrance', async () => {
  const { send, source } = await open({}, [express.urlencoded()]);
  expect((await send('shop', signed(source, 'msg_1', bodyOf(100)))).json.path).toBe('ignored');
});

test('a request that ends before its body does is no event and no defect', async () => {
  const receiver = await open();
  const { headers } = signed(receiver.source, 'msg_1', bodyOf(100));
  const { port, hostname } = new URL(receiver.http.url);
  const socket = connect(Number(port), hostname);
  socket.write(`${head({ ...headers, 'content-length': '100' })}{"type"`);
  setTimeout(() => socket.destroy(), 50);
  await expect.poll(() => receiver.lines.some(({ reason }) => reason === 'aborted')).toBe(true);
  expect(receiver.lines.filter(({ level }) => level === 'error')).toEqual([]);
});
