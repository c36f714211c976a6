import { OnefoldError } from '../errors.js';
import { type BusinessKey, businessKey } from '../identity/business-identity.js';
import type { Effect } from './effect.js';
import type { ReceivedEvent } from './event.js';

/**
 * Computes the business key of an effect for an event, by the user's function.
 *
 * @throws {OnefoldError} `planning_failed` when the function threw; `business_key_invalid` for what is no key.
 */
export function businessKeyOf(effect: Effect, event: ReceivedEvent): BusinessKey {
  let value: unknown;
  try {
    value = effect.businessKey(event);
  } catch (cause) {
    const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : typeof cause;
    throw new OnefoldError('planning_failed', `the business key function of '${effect.name}' threw ${reason}`, {
      cause,
    });
  }
  return businessKey(value);
}
