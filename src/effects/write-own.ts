import type { HeldClaim } from '../ledger/held-claim.js';
import { type ClaimEnd, isLeftAs } from '../ledger/is-left-as.js';
import type { AttemptInLedger, ExternalAttempt } from './external-attempt.js';
import { insistOn } from './insist.js';

/**
 * What an attempt may take beyond its timeout to write down how it ended, ms: the server gives it up 5 s after that, and
 * the lease ends 10 s after.
 */
export const writeDownMs = 4000;

/** A slot is not held for longer than this only to write. */
const longestWriteMs = 30_000;

/** Until when an attempt tries to write down what it knows of its outcome, Unix ms. */
export function writeUntil({ startedAt, timeoutMs }: ExternalAttempt): number {
  return Math.min(startedAt + timeoutMs + writeDownMs, Date.now() + longestWriteMs);
}

/**
 * Writes what an attempt leaves its own claim as, as long as its time allows.
 *
 * @param write Resolves with false where it found nothing of the attempt's own to change.
 * @returns False where the claim is another attempt's by now.
 */
export function writeOwn(
  { ledger, attempt }: AttemptInLedger,
  claim: HeldClaim,
  state: ClaimEnd,
  write: () => Promise<boolean>,
): Promise<boolean> {
  return insistOn(writeUntil(attempt), write, () => isLeftAs(ledger.database.query, ledger.schema, claim, state));
}
