import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSealer } from '../../src/runtime/seal.js';

const key = (): string => randomBytes(32).toString('base64');
const first = key();
const second = key();
const sealer = createSealer(`k1:${first}`);

const failure = (work: () => unknown): { code: string; message: string } => {
  try {
    work();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
  throw new Error('it did not fail');
};

test('what was sealed opens in its place, and reads like chance until then', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, place) => {
      const sealed = sealer.seal(text, place);
      expect(sealed.key).toBe('k1');
      expect(sealer.open(sealed, place)).toBe(text);
      if (text.length > 3) expect(sealed.sealed.includes(text)).toBe(false);
    }),
  );
});

test('the same text is never sealed to the same bytes', () => {
  const seen = new Set(Array.from({ length: 1000 }, () => sealer.seal('secret', 'place').sealed.toString('hex')));
  expect(seen.size).toBe(1000);
});

test('a row that was copied to another place does not open', () => {
  const sealed = sealer.seal('whsec_secret', 'tenant a');
  const { code, message } = failure(() => sealer.open(sealed, 'tenant b'));
  expect(code).toBe('secret_unreadable');
  expect(message).toContain("'k1'");
  expect(message).not.toContain('whsec_secret');
});

test('one changed bit anywhere, or a byte more or less, does not open', () => {
  const { sealed } = sealer.seal('secret', 'place');
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(failure(() => sealer.open({ sealed: changed, key: 'k1' }, 'place')).code).toBe('secret_unreadable');
  }
  for (const length of [0, 1, 28, 29, sealed.length - 1]) {
    const cut = sealed.subarray(0, length);
    expect(failure(() => sealer.open({ sealed: cut, key: 'k1' }, 'place')).code).toBe('secret_unreadable');
  }
  const longer = Buffer.concat([sealed, Buffer.of(0)]);
  expect(failure(() => sealer.open({ sealed: longer, key: 'k1' }, 'place')).code).toBe('secret_unreadable');
});

test('the first key seals, and all of them open', () => {
  const old = sealer.seal('secret', 'place');
  const both = createSealer(`k2:${second} , k1:${first}`);
  expect(both.currentKey).toBe('k2');
  expect(both.seal('secret', 'place').key).toBe('k2');
  expect(both.open(old, 'place')).toBe('secret');
});

test('a key that is missing is named, and another key under its name is told apart from that', () => {
  const sealed = sealer.seal('secret', 'place');
  const missing = failure(() => createSealer(`k2:${second}`).open(sealed, 'place'));
  expect(missing).toEqual({
    code: 'secret_unreadable',
    message: expect.stringContaining("the key 'k1', which is not in"),
  });
  const another = failure(() => createSealer(`k1:${second}`).open(sealed, 'place'));
  expect(another).toEqual({
    code: 'secret_unreadable',
    message: expect.stringContaining("the key 'k1' does not open it"),
  });
});

test.each([undefined, '', ' , '])('without keys (%j) nothing is wrong until one is needed', (keys) => {
  const none = createSealer(keys);
  for (const use of [
    () => none.currentKey,
    () => none.seal('a', 'b'),
    () => none.open({ sealed: Buffer.of(), key: 'k' }, 'b'),
  ]) {
    const { code, message } = failure(use);
    expect(code).toBe('config_missing');
    expect(message).toContain('ONEFOLD_SECRETS_KEYS');
  }
});

test.each([
  ['a key without a name', first],
  ['a blank name', `:${first}`],
  ['a name with other characters', `k 1:${first}`],
  ['a name that is too long', `${'k'.repeat(33)}:${first}`],
  ['a key that is too short', `k1:${randomBytes(31).toString('base64')}`],
  ['a key that is too long', `k1:${randomBytes(33).toString('base64')}`],
  ['a key that is no base64', `k1:${'!'.repeat(44)}`],
  ['one name twice', `k1:${first},k1:${second}`],
  ['a second entry that is none', `k1:${first},${second}`],
])('%s is refused when it is first needed, without any part of it in the message', (_what, keys) => {
  const wrong = createSealer(keys);
  const { code, message } = failure(() => wrong.currentKey);
  expect(code).toBe('config_invalid');
  expect(message).toMatch(/^ONEFOLD_SECRETS_KEYS: entry [12] of [12] /);
  for (const part of keys.split(/[:,]/).filter((text) => text.length > 8)) expect(message).not.toContain(part);
});
