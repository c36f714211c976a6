import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { checkSecret, newSecret, openSecret, openSigningKey, sealSecret } from '../../src/publisher/endpoint-secret.js';
import { createSealer } from '../../src/runtime/seal.js';

const sealer = createSealer(`k1:${randomBytes(32).toString('base64')}`);
const place = { tenant: 'acme', endpoint: 'ep_1', id: '6a0c7d5e-0000-4000-8000-000000000000' };
const secretOf = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;

test('a new secret is whsec_ and the base64 of 32 random bytes, and is none that was there before', () => {
  const secrets = Array.from({ length: 100 }, newSecret);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(checkSecret(secret)).toBe(secret);
  }
  expect(new Set(secrets).size).toBe(100);
});

test('a secret opens as it was sealed, and signs with the bytes behind its base64', () => {
  const secret = newSecret();
  const sealed = sealSecret(sealer, secret, place);
  expect(openSecret(sealer, sealed, place)).toBe(secret);
  expect(openSigningKey(sealer, sealed, place)).toEqual(Buffer.from(secret.slice('whsec_'.length), 'base64'));
});

test.each([
  ['another tenant', { ...place, tenant: 'evil' }],
  ['another endpoint', { ...place, endpoint: 'ep_2' }],
  ['another row', { ...place, id: '6a0c7d5e-0000-4000-8000-000000000001' }],
  ['parts that are joined to the same text', { ...place, tenant: 'acme","ep_1' }],
])('a secret that was copied to %s does not sign', (_what, elsewhere) => {
  const sealed = sealSecret(sealer, newSecret(), place);
  expect(() => openSigningKey(sealer, sealed, elsewhere)).toThrowError(
    expect.objectContaining({ code: 'secret_unreadable' }),
  );
});

test('a secret that the receiver has already is taken from 24 to 64 bytes, with its prefix or without', () => {
  for (const bytes of [24, 32, 64]) {
    expect(checkSecret(secretOf(bytes))).toBe(secretOf(bytes));
    expect(checkSecret(secretOf(bytes).slice('whsec_'.length))).toBe(secretOf(bytes));
  }
});

test.each([
  ['a short one', secretOf(23)],
  ['a long one', secretOf(65)],
  ['a public key', `whpk_${Buffer.alloc(32, 9).toString('base64')}`],
  ['a private key', `whsk_${Buffer.alloc(64, 9).toString('base64')}`],
  ['a signature', `v1,${Buffer.alloc(32).toString('base64')}`],
  ['no base64', 'whsec_correct horse battery staple'],
  ['a blank', ' '],
  ['nothing', ''],
  ['no text', 7],
])('%s is refused as a secret, and not told', (_what, secret) => {
  expect(() => checkSecret(secret)).toThrowError(
    expect.objectContaining({ code: 'endpoint_invalid', message: expect.stringMatching(/^secret: it /) }),
  );
  const told = (() => {
    try {
      checkSecret(secret);
    } catch (error) {
      return (error as Error).message;
    }
  })();
  if (String(secret).length > 8) expect(told).not.toContain(String(secret).slice(6, 16));
});
