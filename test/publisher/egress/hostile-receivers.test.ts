import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { clientOf, messageTo, sendTo } from './support/clients.js';
import { type Answer, answers, rawReceiver } from './support/raw-receiver.js';

const mebibyte = 1024 * 1024;
const chunk = Buffer.alloc(64 * 1024, 'x');

/** A chunked body of 1 GiB, as fast as the socket takes it; tells how much it took. */
function gibibyte(status: number, taken: { bytes: number }): Answer {
  return (socket) => {
    socket.write(`HTTP/1.1 ${status} X\r\ntransfer-encoding: chunked\r\n\r\n`);
    const pour = (): void => {
      while (taken.bytes < 1024 * mebibyte && !socket.destroyed) {
        taken.bytes += chunk.length;
        socket.write(`${chunk.length.toString(16)}\r\n`);
        socket.write(chunk);
        if (!socket.write('\r\n')) return void socket.once('drain', pour);
      }
      socket.end('0\r\n\r\n');
    };
    pour();
  };
}

function every(ms: number, socket: Socket, write: (turn: number) => void): void {
  let turn = 0;
  const timer = setInterval(() => write(turn++), ms);
  socket.once('close', () => clearInterval(timer));
}

describe('endpoint-response-without-end', () => {
  it('200-then-drip: delivered at the deadline, with what came by then', async () => {
    const receiver = await rawReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      every(20, socket, () => socket.write('1\r\nx\r\n'));
    });
    const exchange = await sendTo(receiver.url, { timeoutMs: 300 });
    expect(exchange).toMatchObject({ kind: 'response', response: { status: 200, truncated: true } });
    expect(exchange.kind === 'response' && exchange.response.text).toMatch(/^x+$/);
    expect(exchange.kind === 'response' && exchange.response.durationMs).toBeLessThan(1_000);
    await receiver.idle();
  });

  it.each([200, 500])(
    '%i-with-a-gibibyte: 16 KiB are read, the socket is closed, memory does not grow',
    async (status) => {
      const before = process.memoryUsage().rss;
      const taken = { bytes: 0 };
      const receiver = await rawReceiver(gibibyte(status, taken));
      expect(await sendTo(receiver.url)).toMatchObject({
        kind: 'response',
        response: {
          status,
          bytes: 16_384,
          digest: createHash('sha256').update('x'.repeat(16_384)).digest('hex'),
          text: 'x'.repeat(2_048),
          truncated: true,
        },
      });
      await receiver.idle();
      expect(taken.bytes).toBeLessThan(16 * mebibyte);
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * mebibyte);
    },
  );

  it('headers-drip: the deadline covers a header that never ends', async () => {
    const receiver = await rawReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
      every(20, socket, () => socket.write('x'));
    });
    expect(await sendTo(receiver.url, { timeoutMs: 300 })).toMatchObject({ code: 'response_timeout' });
    await receiver.idle();
  });

  it('gzip-bomb: nothing is inflated, and nothing compressed is asked for', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * mebibyte), { level: 9 });
    const receiver = await rawReceiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    const headers = { 'accept-encoding': 'gzip' };
    const exchange = await sendTo(receiver.url, { headers });
    const digest = createHash('sha256').update(bomb.subarray(0, 16_384)).digest('hex');
    expect(exchange).toMatchObject({ response: { status: 200, bytes: 16_384, digest, truncated: true } });
    expect(receiver.requests[0]).toContain('\r\naccept-encoding: identity\r\n');
    await receiver.idle();
  });
});

describe('a hostile receiver', () => {
  it('with 1 MiB of headers is response_malformed', async () => {
    const receiver = await rawReceiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${`x-filler: ${'x'.repeat(1_000)}\r\n`.repeat(1_024)}\r\n`);
    });
    expect(await sendTo(receiver.url)).toMatchObject({ code: 'response_malformed', mayHaveArrived: true });
    await receiver.idle();
  });

  it('with trailers without end is answered by its status', async () => {
    const receiver = await rawReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n');
      every(1, socket, () => socket.write(`x-filler: ${'x'.repeat(1_000)}\r\n`));
    });
    expect(await sendTo(receiver.url)).toMatchObject({ response: { status: 200, text: 'ok', truncated: true } });
    await receiver.idle();
  });

  it('with early hints without end is ended by the deadline', async () => {
    const receiver = await rawReceiver((socket) => {
      every(5, socket, () => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'));
    });
    expect(await sendTo(receiver.url, { timeoutMs: 300 })).toMatchObject({ code: 'response_timeout' });
    await receiver.idle();
  });

  it.each([
    ['a body shorter than it said', 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nok'],
    ['a chunk that is none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n'],
  ])('with %s is answered by its status', async (_name, bytes) => {
    const receiver = await rawReceiver((socket) => void socket.end(bytes));
    expect(await sendTo(receiver.url)).toMatchObject({ response: { status: 200, text: 'ok', truncated: true } });
  });

  it('with bytes that are no text leaves text that can be kept', async () => {
    const body = Buffer.from([0xff, 0xc3, 0x28, 0x00, 0xed, 0xa0, 0x80, 0x61]);
    const receiver = await rawReceiver((socket) => {
      socket.write(`HTTP/1.1 500 X\r\ncontent-length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    const exchange = await sendTo(receiver.url);
    const text = exchange.kind === 'response' ? exchange.response.text : '';
    expect(Buffer.from(text).toString()).toBe(text);
    expect(text).toMatch(/a$/);
    expect(exchange).toMatchObject({ response: { bytes: 8, truncated: false } });
  });

  it('with a second answer nobody asked for does not answer the next request with it', async () => {
    const receiver = await rawReceiver((socket, number) => {
      answers(number === 1 ? 500 : 204)(socket, number);
      if (number === 1) setTimeout(() => answers(200)(socket, number), 5);
    });
    const client = clientOf();
    expect(await client.send(messageTo(receiver.url))).toMatchObject({ response: { status: 500 } });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(await client.send(messageTo(receiver.url))).toMatchObject({ response: { status: 204 } });
  });

  it('does not keep another from being sent to', async () => {
    const silent = await rawReceiver(() => {});
    const well = await rawReceiver(answers(200));
    const client = clientOf();
    const hanging = Array.from({ length: 50 }, () => client.send(messageTo(silent.url, { timeoutMs: 400 })));
    const startedAt = performance.now();
    expect(await client.send(messageTo(well.url))).toMatchObject({ response: { status: 200 } });
    expect(performance.now() - startedAt).toBeLessThan(300);
    await Promise.all(hanging);
  });
});
