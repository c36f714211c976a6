import { expect, inject, test } from 'vitest';
import { connectWorker } from '../../src/runtime/temporal.js';
import { captureLog } from './support/captured-log.js';
import { startProxy } from './support/switchable-proxy.js';

test('a worker waits for Temporal with a log line, and connects when it is there', async () => {
  const proxy = await startProxy(inject('temporalAddress'));
  await proxy.become('refuse');
  const { log, lines } = captureLog();
  const connecting = connectWorker({ address: proxy.address, environment: {} }, { log, retryEveryMs: 50 });
  await expect.poll(() => lines.map(({ msg }) => msg), { timeout: 10_000 }).toEqual(['temporal.waiting']);
  await proxy.become('up');
  const connection = await connecting;
  await connection.close();
  await proxy.close();
});

test('the waiting of a worker can be ended', async () => {
  const { log } = captureLog();
  const stop = new AbortController();
  const connecting = connectWorker(
    { address: '127.0.0.1:1', environment: {} },
    { log, signal: stop.signal, retryEveryMs: 60_000 },
  );
  setTimeout(() => stop.abort(new Error('stopped')), 300);
  await expect(connecting).rejects.toThrow('stopped');
});
