import { OnefoldError } from '../errors.js';
import { checkTenant } from '../identity/check-tenant.js';
import type { VerifiedDelivery } from '../receiver/read-verified.js';
import type { Source } from '../sources/define-source.js';

/**
 * Finds the tenant of an event that a person hands in. What the source itself says holds; the person is asked only where its
 * function cannot tell from a request that nobody sent.
 *
 * @throws {OnefoldError} `ingest_refused` where the source says another one, or none is known; `identity_invalid`.
 */
export function unsignedTenant(source: Source, verified: VerifiedDelivery, given: string | undefined): string {
  const { tenant: declared } = source.settings;
  const told = typeof declared === 'string' ? declared : toldBy(declared, verified);
  if (given === undefined) {
    if (told !== undefined) return checkTenant(told);
    throw new OnefoldError(
      'ingest_refused',
      `source '${source.name}' cannot tell the tenant from an event without its request: give the tenant`,
    );
  }
  // A function that falls back to no tenant has not found one.
  const unknown = typeof declared !== 'string' && (told === undefined || told === '');
  if (unknown || told === given) return checkTenant(given);
  throw new OnefoldError(
    'ingest_refused',
    `tenant: source '${source.name}' says ${JSON.stringify(told)}, not ${JSON.stringify(given)}`,
  );
}

/** A function of the user's that reads what only a signed request has throws, or returns nothing. */
function toldBy(declared: (delivery: VerifiedDelivery) => unknown, verified: VerifiedDelivery): string | undefined {
  try {
    const tenant = declared(verified);
    return typeof tenant === 'string' ? tenant : undefined;
  } catch {
    return undefined;
  }
}
