import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Recipient, startRecipient } from '../../src/testing/recipient.js';

let recipient: Recipient;
beforeEach(async () => {
  recipient = await startRecipient();
});
afterEach(() => recipient.stop());

const headers = (key?: string): Record<string, string> => (key === undefined ? {} : { 'idempotency-key': key });
const call = (key?: string, body: unknown = { order: '1' }, signal?: AbortSignal) =>
  fetch(`${recipient.url}/charges?a=b`, {
    method: 'POST',
    headers: headers(key),
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
const ask = (key: string) => fetch(recipient.url, { headers: headers(key) });

test('a call is an effect, and the same key again is the same answer', async () => {
  expect(await (await call('k1')).json()).toEqual({ id: 'effect-1' });
  expect(await (await call('k1')).json()).toEqual({ id: 'effect-1' });
  expect(await (await call('k2')).json()).toEqual({ id: 'effect-2' });
  expect(recipient.calls).toHaveLength(3);
  expect(recipient.effects).toEqual([
    { method: 'POST', path: '/charges?a=b', key: 'k1', body: { order: '1' }, answer: { id: 'effect-1' } },
    { method: 'POST', path: '/charges?a=b', key: 'k2', body: { order: '1' }, answer: { id: 'effect-2' } },
  ]);
});

test('calls without a key are never the same', async () => {
  await call();
  await call();
  expect(recipient.effects).toHaveLength(2);
});

test('asked for a key it says what it had answered, or that it knows nothing', async () => {
  expect((await ask('k1')).status).toBe(404);
  await call('k1');
  expect(await (await ask('k1')).json()).toEqual({ id: 'effect-1' });
  expect(recipient.calls).toHaveLength(1);
});

test('forgotten keys are new keys', async () => {
  await call('k1');
  recipient.forgetKeys();
  expect((await ask('k1')).status).toBe(404);
  expect(await (await call('k1')).json()).toEqual({ id: 'effect-2' });
});

test('it acts and drops the connection, or answers 500, as often as told', async () => {
  recipient.next({ reply: 'drop' });
  recipient.next({ reply: 500, times: 2 });
  await expect(call('k1')).rejects.toThrow();
  expect([(await call('k1')).status, (await call('k2')).status, (await call('k2')).status]).toEqual([500, 500, 200]);
  expect(recipient.effects.map(({ key }) => key)).toEqual(['k1', 'k2']);
});

test('it misbehaves without acting where told so', async () => {
  recipient.next({ reply: 503, acts: false });
  expect((await call('k1')).status).toBe(503);
  expect(recipient.effects).toEqual([]);
  expect((await call('k1')).status).toBe(200);
});

test('it misbehaves for the calls that are meant', async () => {
  recipient.next({ reply: 503, where: ({ body }) => body.order === '2' });
  expect((await call('k1')).status).toBe(200);
  expect((await call('k2', { order: '2' })).status).toBe(503);
});

test('a call that hangs, or is late, has been acted on all the same', async () => {
  recipient.next({ reply: 'hang' });
  recipient.next({ reply: { afterMs: 300 } });
  await expect(call('k1', {}, AbortSignal.timeout(200))).rejects.toThrow(/aborted due to timeout/);
  expect(recipient.effects).toHaveLength(1);
  await expect(call('k2', {}, AbortSignal.timeout(100))).rejects.toThrow(/aborted due to timeout/);
  await expect.poll(() => recipient.effects.length).toBe(2);
});

test('one that knows no keys acts on every call, and cannot be asked', async () => {
  const forgetful = await startRecipient({ dedupes: false, answer: ({ key }, count) => ({ key, count }) });
  try {
    const post = { method: 'POST', headers: headers('k1') };
    await fetch(forgetful.url, post);
    expect(await (await fetch(forgetful.url, post)).json()).toEqual({ key: 'k1', count: 2 });
    expect((await fetch(forgetful.url, { headers: headers('k1') })).status).toBe(404);
  } finally {
    await forgetful.stop();
  }
});

test('stopping cuts what hangs, and may be repeated', async () => {
  recipient.next({ reply: 'hang' });
  const hanging = call('k1').catch((error: Error) => error);
  await expect.poll(() => recipient.calls.length).toBe(1);
  await recipient.stop();
  await recipient.stop();
  expect(await hanging).toBeInstanceOf(Error);
});
