import type { TakenClaim } from '../ledger/claim-external.js';
import { ledgerName } from './catalogue.js';
import type { AttemptClaim } from './claim-for-attempt.js';
import { endForEvent } from './end-for-event.js';
import { parkedMessage } from './end-held.js';
import type { AttemptInLedger, ExternalAttemptEnd } from './external-attempt.js';

/** Says how an attempt ends that could not take the claim, and ends the effect for its event where nothing is left to do. */
export async function answerRefused(
  run: AttemptInLedger,
  claim: Exclude<AttemptClaim, TakenClaim>,
): Promise<ExternalAttemptEnd> {
  switch (claim.path) {
    case 'held': {
      const leaseLeftMs = Math.ceil(claim.leaseLeftMs);
      const message = `an attempt for ${claim.event} holds the claim, for ${Math.ceil(leaseLeftMs / 1000)} s at most if it has died`;
      const detail = { code: 'claim_waiting', message, permanent: false, counted: false, waitAtMostMs: leaseLeftMs };
      return { kind: 'failed', detail };
    }
    case 'parked':
      return { kind: 'parked', fence: claim.fence, message: parkedMessage(claim.event, 'its outcome is unknown') };
    case 'stale':
      await endForEvent(run, run.attempt.eventKey, { effect: ledgerName(run.attempt.effect), outcome: 'stale' });
      return {
        kind: 'ended',
        outcome: 'stale',
        fence: 0,
        doneBy: claim.by,
        // Which of the two the recipient has carried out last, nobody knows: someone should look.
        ...(claim.inDoubt
          ? { code: 'outcome_unknown', message: 'an earlier attempt at this older state may have taken hold' }
          : {}),
      };
    case 'done': {
      // Our own event did it when the answer of an earlier attempt was lost: that is done, not somebody else's work.
      const own = claim.eventKey === run.attempt.eventKey;
      const outcome = own ? 'done' : 'already_done';
      await endForEvent(run, run.attempt.eventKey, { effect: claim.effect, outcome });
      const { fence, result } = claim;
      return {
        kind: 'ended',
        outcome,
        fence,
        ...(result ? { result } : {}),
        ...(own ? {} : { doneBy: claim.event }),
        ...(own || claim.sameData ? {} : { otherData: true }),
      };
    }
  }
}
