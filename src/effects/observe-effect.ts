import type { Ledger } from '../ledger/ledger.js';
import { readClaim } from '../ledger/read-claim.js';
import { ledgerNames } from './catalogue.js';
import type { Effect } from './effect.js';

/** What an effect that only looks would have done about an event. */
export interface Observation {
  readonly effect: string;
  readonly businessKey: string;
  /** `skip`: what it is about is done already. */
  readonly would: 'perform' | 'skip';
  /** With `skip`: `source/event-id` of the event that did it, or 'adopted' where an earlier system did and did not say for which. */
  readonly doneBy?: string;
}

/** Says what an effect would do about its business key now. Claims nothing. */
export async function observeEffect(
  ledger: Ledger,
  tenant: string,
  { effect, businessKey }: { readonly effect: Effect; readonly businessKey: string },
): Promise<Observation> {
  const names = ledgerNames(effect);
  const claim = await readClaim(ledger.database.query, ledger.schema, { tenant, names, businessKey });
  const about = { effect: effect.name, businessKey };
  return claim?.state === 'done' ? { ...about, would: 'skip', doneBy: claim.event } : { ...about, would: 'perform' };
}
