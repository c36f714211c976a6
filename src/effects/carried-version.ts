import { OnefoldError } from '../errors.js';
import { businessKey } from '../identity/business-identity.js';
import { displayEvent } from '../identity/event-identity.js';
import type { CarriedVersion } from '../ledger/judge-version.js';
import { ledgerName } from './catalogue.js';
import type { Effect } from './effect.js';
import type { ReceivedEvent } from './event.js';

/** Thrown inside a transaction to roll it back: the state that the event carries is older than one begun before. */
export class OlderState extends Error {
  override readonly name = 'OlderState';

  /**
   * @param by `source/event-id` of the event with the newer state.
   * @param inDoubt An attempt at the older one may have taken hold.
   */
  constructor(
    readonly by: string,
    readonly inDoubt = false,
  ) {
    super(`a newer state was begun by ${by}`);
  }
}

/**
 * The state that an event carries for a superseding effect, or undefined where the effect does not supersede.
 *
 * @throws {OnefoldError} `version_invalid` for what is no lineage or no version, and where a function of the user threw.
 */
export function carriedVersion(effect: Effect, event: ReceivedEvent, eventKey: string): CarriedVersion | undefined {
  const { supersede } = effect;
  if (!supersede) return undefined;
  try {
    return {
      tenant: event.tenant,
      effect: ledgerName(effect),
      lineage: businessKey(supersede.by(event)),
      version: numeric(supersede.version(event)),
      eventKey,
      event: displayEvent(event),
    };
  } catch (cause) {
    throw new OnefoldError(
      'version_invalid',
      `supersede of '${effect.name}' gave no lineage or version: ${cause instanceof Error ? `${cause.name}: ${cause.message}` : typeof cause}`,
      { cause },
    );
  }
}

/** As PostgreSQL reads a `numeric`; a double keeps all its digits, and a date is its ms. */
function numeric(version: unknown): string {
  if (typeof version === 'bigint') return version.toString();
  const value = version instanceof Date ? version.getTime() : version;
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  throw new TypeError(`a version is a finite number, a bigint or a valid Date, and this one is ${typeof version}`);
}
