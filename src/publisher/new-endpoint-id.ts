import { randomBytes } from 'node:crypto';

/** 32 characters in ascending order: digits and small letters without i, l, o and u, which are taken for others. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeCharacters = 10;
const randomCharacters = 14;

/**
 * Makes the id of an endpoint: `ep_`, ten characters of the time and 14 of chance, so that the order of ids is that of
 * their creation and no two meet. Nothing is protected by an id being hard to guess: every statement names the tenant.
 */
export function newEndpointId(nowMs = Date.now()): string {
  const time = Array.from(
    { length: timeCharacters },
    (_, index) => alphabet[Math.floor(nowMs / 32 ** (timeCharacters - 1 - index)) % 32],
  );
  const random = Array.from(randomBytes(randomCharacters), (byte) => alphabet[byte % 32]);
  return `ep_${[...time, ...random].join('')}`;
}
