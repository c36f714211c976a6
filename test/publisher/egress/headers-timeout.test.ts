import { expect, it, onTestFinished, vi } from 'vitest';
import { headersTimeoutOf } from '../../../src/publisher/endpoint.js';
import { messageTo, sendTo } from './support/clients.js';
import { rawReceiver } from './support/raw-receiver.js';

it.each([
  [1_000, 1_000],
  [9_000, 9_000],
  [15_000, 10_000],
  [30_000, 20_000],
  [60_000, 40_000],
])('of %i ms the headers have %i', (timeoutMs, headersMs) => {
  expect(headersTimeoutOf(timeoutMs)).toBe(headersMs);
});

it('a receiver that may take 60 s is heard after 39, and given up after 40', async () => {
  const receiver = await rawReceiver((socket, number) => {
    if (number === 1) setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), 39_000);
  });
  const message = messageTo(receiver.url, { timeoutMs: 60_000 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const received = async (count: number): Promise<void> => {
    while (receiver.requests.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  const slow = sendTo(message.url, message);
  await received(1);
  await vi.advanceTimersByTimeAsync(39_000);
  expect(await slow).toMatchObject({ response: { status: 200 } });
  const silent = sendTo(message.url, message);
  await received(2);
  await vi.advanceTimersByTimeAsync(40_000);
  expect(await silent).toMatchObject({ code: 'response_timeout', mayHaveArrived: true });
});
