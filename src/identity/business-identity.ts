import { OnefoldError } from '../errors.js';
import { assertWellFormed, utf8Bytes } from './encode-segment.js';

declare const brand: unique symbol;

/** A key that says what may happen once: `shipment:42`. Unique per tenant and effect in the ledger. */
export type BusinessKey = string & { readonly [brand]: 'BusinessKey' };

/** The business identity: is the effect already done? It is the primary key of the ledger. */
export interface BusinessIdentity {
  readonly tenant: string;
  readonly effect: string;
  readonly businessKey: BusinessKey;
}

/** Keys go into an index and, shortened, into search attributes; a longer one is a mistake of the key function. */
export const businessKeyLimitBytes = 512;

/**
 * Judges what a business key function returned.
 *
 * @throws {OnefoldError} `business_key_invalid` for anything but non-blank text of at most 512 bytes without NUL.
 */
export function businessKey(value: unknown): BusinessKey {
  if (typeof value !== 'string') {
    throw new OnefoldError('business_key_invalid', `a business key must be a string, and this one is ${kindOf(value)}`);
  }
  if (value.trim() === '') throw new OnefoldError('business_key_invalid', 'a business key must not be blank');
  if (value.includes('\0')) throw new OnefoldError('business_key_invalid', 'a business key must not hold NUL');
  const bytes = utf8Bytes(value);
  if (bytes > businessKeyLimitBytes) {
    throw new OnefoldError(
      'business_key_invalid',
      `a business key has at most ${businessKeyLimitBytes} bytes, and this one has ${bytes}`,
    );
  }
  try {
    assertWellFormed(value);
  } catch (cause) {
    throw new OnefoldError('business_key_invalid', 'a business key holds a lone surrogate, which is not text', {
      cause,
    });
  }
  return value as BusinessKey;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
}
