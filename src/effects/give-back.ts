import { giveBackClaim } from '../ledger/give-back-claim.js';
import { ledgerNames } from './catalogue.js';
import type { AttemptInLedger } from './external-attempt.js';
import { insistOn } from './insist.js';
import { writeUntil } from './write-own.js';

/** Gives the claim back as it was taken: this attempt has not acted under it. @returns Whether it still had one. */
export async function giveBack({ ledger, attempt }: AttemptInLedger): Promise<boolean> {
  const { effect, event, businessKey, owner } = attempt;
  const claim = { tenant: event.tenant, names: ledgerNames(effect), businessKey, owner };
  const write = () => giveBackClaim(ledger.database.query, ledger.schema, claim);
  // Nobody else gives a claim of this owner back, so that a second try which finds none has found the first one's work.
  return insistOn(writeUntil(attempt), write, async () => true);
}
