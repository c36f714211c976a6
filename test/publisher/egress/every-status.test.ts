import { expect, it } from 'vitest';
import { decide, decisionTable } from '../../../src/publisher/decisions.js';
import { clientOf, messageTo, sendTo } from './support/clients.js';
import { answers, rawReceiver } from './support/raw-receiver.js';

/** The design's table, written out by hand. */
function expected(status: number): string {
  if (status >= 200 && status <= 299) return 'delivered';
  if ([408, 425, 429].includes(status)) return 'retry';
  if (status === 410) return 'gone';
  return status >= 500 && status <= 599 ? 'retry' : 'rejected';
}

it('every final status from 200 to 599 is told as it came, and has its decision', async () => {
  const receiver = await rawReceiver((socket, number) => answers(number + 199)(socket, number));
  const client = clientOf();
  for (let status = 200; status <= 599; status += 1) {
    const exchange = await client.send(messageTo(receiver.url));
    expect(exchange).toMatchObject({ kind: 'response', response: { status, bytes: 0, text: '', truncated: false } });
    expect(decide(status).decision, `of ${status}`).toBe(expected(status));
  }
  expect(receiver.requests).toHaveLength(400);
  expect(receiver.connections).toBeLessThanOrEqual(2);
});

it.each([600, 700, 999, 99, 0])(
  'the code %i, which HTTP does not know, is told as it came, and rejected',
  async (code) => {
    const receiver = await rawReceiver((socket) => {
      socket.write(`HTTP/1.1 ${String(code).padStart(3, '0')} X\r\ncontent-length: 0\r\n\r\n`);
    });
    expect(await sendTo(receiver.url)).toMatchObject({ kind: 'response', response: { status: code } });
    expect(decide(code).decision).toBe('rejected');
    expect(receiver.requests).toHaveLength(1);
  },
);

it.each([
  ['100, which nobody asked for', 100, 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['101 with its headers', 101, 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'],
  ['101 without', 101, 'HTTP/1.1 101 X\r\n\r\n'],
])('%s is an answer, and rejected', async (_name, status, bytes) => {
  const receiver = await rawReceiver((socket) => void socket.write(bytes));
  expect(await sendTo(receiver.url)).toMatchObject({ kind: 'response', response: { status } });
  expect(decide(status).decision).toBe('rejected');
  await receiver.idle();
  expect(receiver.requests).toHaveLength(1);
});

it('all other codes below 200 are on the way to the answer, and skipped', async () => {
  for (let status = 102; status <= 199; status += 1) {
    expect(decide(status).decision).toBe('rejected');
  }
  const receiver = await rawReceiver((socket) => {
    const interim = Array.from({ length: 98 }, (_, index) => `HTTP/1.1 ${102 + index} X\r\nlink: </x>\r\n\r\n`);
    socket.write(`${interim.join('')}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`);
  });
  expect(await sendTo(receiver.url)).toMatchObject({ kind: 'response', response: { status: 200 } });
});

it('Retry-After is read wherever the table reads it, and whatever it says is harmless', async () => {
  const dated = new Date(Date.UTC(2026, 1, 3, 4, 6, 6)).toUTCString();
  const wishes: readonly [string, number | undefined][] = [
    ['120', 120_000],
    [dated, 60_000],
    ['99999999999999999999', Number.MAX_SAFE_INTEGER],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['\u00ff', undefined],
  ];
  const receiver = await rawReceiver((socket, number) => {
    answers(503, { 'retry-after': wishes[number - 1]![0] })(socket, number);
  });
  const client = clientOf({ now: () => Date.parse('2026-02-03T04:05:06Z') });
  for (const [wish, waitMs] of wishes) {
    const exchange = await client.send(messageTo(receiver.url));
    expect(exchange.kind === 'response' && exchange.retryAfterMs, wish).toBe(waitMs);
  }
  const rows = decisionTable.filter(({ retryAfter }) => retryAfter).map(({ answer }) => answer);
  expect(rows).toEqual(['408, 425, 429', '5xx']);
});
