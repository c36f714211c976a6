import { displayEvent } from '../identity/event-identity.js';
import type { TakenClaim } from '../ledger/claim-external.js';
import { orAborted } from '../runtime/or-aborted.js';
import { answerRefused } from './answer-refused.js';
import { atStep } from './at-step.js';
import { callRecipient } from './call-recipient.js';
import { claimForAttempt } from './claim-for-attempt.js';
import { parseResult } from './encode-result.js';
import { completeHeld, giveBackHeld } from './end-held.js';
import { OutcomeUnknownError } from './errors.js';
import type { ReceivedEvent } from './event.js';
import type { AttemptInLedger, ExternalAttemptEnd } from './external-attempt.js';
import { type Held, overdue } from './held-attempt.js';
import { recoverAttempt } from './recover-attempt.js';

/**
 * Carries one attempt at an external effect: claims, committed before the call; calls, or recovers what an earlier attempt
 * left unknown; completes, only where the fence is still its own. Knows neither Temporal nor HTTP.
 *
 * Whatever it knows of the outcome is in the ledger before it returns. Where it dies, or where the ledger cannot be written,
 * the row says `claimed` until its lease is over, and the next attempt of whatever event recovers.
 *
 * @throws {OnefoldError} Before anything was claimed: `attempt_timed_out`, `abandoned`, `effect_paused`, `keys_differ`, `version_invalid`,
 * `claim_without_completion`, and the signal's reason; at any time `ledger_unavailable`. All else is in the answer.
 */
export async function carryExternalAttempt(run: AttemptInLedger): Promise<ExternalAttemptEnd> {
  await atStep(run.attempt, 'before_claim');
  const stop = overdue(run);
  if (stop !== undefined) throw stop;
  const confirmedAt = Date.now();
  const claim = await claimForAttempt(run);
  if (claim.path !== 'claimed' && claim.path !== 'in_doubt' && claim.path !== 'performed') {
    return answerRefused(run, claim);
  }
  await atStep(run.attempt, 'after_claim');
  return carryClaimed(run, claim, confirmedAt);
}

async function carryClaimed(
  run: AttemptInLedger,
  claim: TakenClaim & { readonly equalTo?: string },
  confirmedAt: number,
): Promise<ExternalAttemptEnd> {
  const { event, eventKey, onNotice } = run.attempt;
  const standsFor = claim.path === 'claimed' ? { eventKey, event: displayEvent(event), sameData: true } : claim;
  const held: Held = {
    claim: claim.held,
    fence: claim.fence,
    idempotencyKey: claim.path === 'performed' ? '' : claim.idempotencyKey,
    confirmedAt,
    inDoubt: claim.path !== 'claimed',
    standsFor,
    equalTo: claim.equalTo,
  };
  if (claim.path === 'claimed') return callRecipient(run, held, event);
  let recorded: ReceivedEvent;
  try {
    recorded = standsFor.eventKey === eventKey ? event : await readOther(run, standsFor);
  } catch (error) {
    return giveBackHeld(run, held, error);
  }
  if (claim.path === 'in_doubt') return recoverAttempt(run, held, recorded, claim);
  onNotice?.({ kind: 'recovering', recovery: 'commit', event: standsFor.event });
  return completeHeld(run, held, recorded, parseResult(claim.result), claim.result);
}

/**
 * The event whose attempt is taken over: its request was made of its own data, and the recipient may hold that under the key.
 */
async function readOther({ attempt }: AttemptInLedger, other: Held['standsFor']): Promise<ReceivedEvent> {
  const found = await orAborted(attempt.readEvent(other.eventKey), attempt.signal);
  if (found) return found;
  if (other.sameData) return attempt.event;
  throw new OutcomeUnknownError(
    `an attempt for ${other.event} cannot be taken over: the ledger has no body of it that fits its schema, and this event has other data`,
  );
}
