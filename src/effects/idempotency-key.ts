import { sha256 } from '../runtime/sha256.js';

/** Of the hash, in hex digits: 128 bits, and with what is around it short enough for recipients that take 45 characters. */
const digits = 32;

/**
 * What the idempotency keys of an effect under one business key begin with; the ledger adds the generation. Derived from
 * tenant, effect and business key alone, and hashed, since business keys may name people and recipients log their keys.
 */
export function idempotencyKeyBase(identity: {
  readonly tenant: string;
  /** The name that the ledger goes by, which a renaming does not change. */
  readonly effect: string;
  readonly businessKey: string;
}): string {
  const { tenant, effect, businessKey } = identity;
  return `onefold-${sha256(JSON.stringify([tenant, effect, businessKey])).slice(0, digits)}`;
}
