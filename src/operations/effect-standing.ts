import { ledgerNames } from '../effects/catalogue.js';
import { type ClaimRecord, readClaim } from '../ledger/read-claim.js';
import type { RecordedEvent } from '../ledger/read-plan.js';
import type { OperationsContext } from './context.js';

/** Where an effect of an event stands in the ledger. */
export interface EffectStanding {
  /** Its present name, where the configuration has it. */
  readonly effect: string;
  readonly businessKey: string;
  /**
   * `ended`: see `because`. `not_done`: nothing of it has happened. `in_doubt`: an attempt may have taken hold. `attempting`:
   * one holds the claim now. `performed`: its call is made, its commit is not. `parked`: it waits for a person.
   */
  readonly state: 'ended' | 'not_done' | 'in_doubt' | 'attempting' | 'performed' | 'parked';
  readonly because: string;
}

/** Says where each recorded effect of an event stands. */
export function effectStandings(
  { catalogue, ledger }: OperationsContext,
  { tenant, effects }: RecordedEvent,
): Promise<readonly EffectStanding[]> {
  return Promise.all(
    effects.map(async ({ effect: recordedAs, businessKey, ended }): Promise<EffectStanding> => {
      const effect = catalogue.effect(recordedAs);
      const named = { effect: effect?.name ?? recordedAs, businessKey };
      if (ended) return { ...named, state: 'ended', because: ended.outcome };
      const names = effect ? ledgerNames(effect) : [recordedAs];
      const claim = await readClaim(ledger.database.query, ledger.schema, { tenant, names, businessKey });
      return { ...named, ...standingOf(claim) };
    }),
  );
}

function standingOf(claim: ClaimRecord | undefined): Pick<EffectStanding, 'state' | 'because'> {
  if (!claim || claim.state === 'released') return { state: 'not_done', because: 'not done' };
  const { event, state, leaseRunning, leaseUntil, resultBytes } = claim;
  if (state === 'done') return { state: 'ended', because: `done by ${event}` };
  if (leaseRunning) {
    return { state: 'attempting', because: `an attempt for ${event} has a lease until ${leaseUntil?.toISOString()}` };
  }
  if (state === 'parked') return { state: 'parked', because: `parked: an attempt for ${event} may have taken hold` };
  if (resultBytes !== undefined) return { state: 'performed', because: 'the call is made, its commit is not' };
  return { state: 'in_doubt', because: `outcome unknown: an attempt for ${event} may have taken hold` };
}
