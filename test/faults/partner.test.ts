import { afterAll, beforeAll, expect, test } from 'vitest';
import { askPartner, callPartner } from './support/call-partner.js';
import { type Partner, startPartner } from './support/partner.js';

let remembering: Partner;
let forgetful: Partner;
beforeAll(async () => {
  remembering = await startPartner({ remembers: true });
  forgetful = await startPartner({ remembers: false });
});
afterAll(async () => {
  await remembering?.close();
  await forgetful?.close();
});

const call = (businessKey: string, idempotencyKey = `key-of-${businessKey}`, ms = 5000) => ({
  businessKey,
  idempotencyKey,
  signal: AbortSignal.timeout(ms),
});

test('a partner that remembers takes one effect for a key and answers the same again', async () => {
  const first = await callPartner(remembering.url, call('a'));
  expect(await callPartner(remembering.url, call('a'))).toEqual(first);
  expect(remembering.taken('a')).toHaveLength(1);
  await callPartner(remembering.url, call('a', 'another-key'));
  expect(remembering.taken('a')).toHaveLength(2);
});

test('a partner that forgot its keys, or never kept any, acts again', async () => {
  await callPartner(remembering.url, call('b'));
  remembering.forgetKeys();
  await callPartner(remembering.url, call('b'));
  expect(remembering.takenUnder('key-of-b')).toHaveLength(2);
  await callPartner(forgetful.url, call('b'));
  await callPartner(forgetful.url, call('b'));
  expect(forgetful.taken('b')).toHaveLength(2);
});

test.each([
  [{ kind: 'drop', acts: true }, 'fetch failed', 1],
  [{ kind: 'drop', acts: false }, 'fetch failed', 0],
  [{ kind: 'answer', status: 500, acts: true }, 'answered 500', 1],
  [{ kind: 'answer', status: 503, acts: false }, 'answered 503', 0],
  [{ kind: 'answer', status: 422, acts: false }, 'answered 422', 0],
  [{ kind: 'hang', acts: true }, 'timeout', 1],
  [{ kind: 'hang', acts: false }, 'timeout', 0],
] as const)('told to %j, it does so once, and then as usual', async (behaviour, message, acted) => {
  const business = JSON.stringify(behaviour);
  forgetful.tell(business, behaviour);
  await expect(callPartner(forgetful.url, call(business, 'key', 300))).rejects.toThrow(message);
  expect(forgetful.taken(business)).toHaveLength(acted);
  await callPartner(forgetful.url, call(business));
  expect(forgetful.taken(business)).toHaveLength(acted + 1);
});

test('told to be late, it acts although the caller has gone', async () => {
  forgetful.tell('late', { kind: 'delay', ms: 200 });
  await expect(callPartner(forgetful.url, call('late', 'key', 50))).rejects.toThrow('timeout');
  expect(forgetful.taken('late')).toHaveLength(0);
  await expect.poll(() => forgetful.taken('late').length).toBe(1);
});

test('asked, it says what it did, or keeps quiet when told to', async () => {
  expect(await askPartner(forgetful.url, call('c'))).toBe('absent');
  const receipt = await callPartner(forgetful.url, call('c'));
  forgetful.keepQuiet('c', 1);
  expect(await askPartner(forgetful.url, call('c'))).toBe('unknown');
  expect(await askPartner(forgetful.url, call('c'))).toEqual({ done: receipt });
});
