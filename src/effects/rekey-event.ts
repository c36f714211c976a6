import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import { type RecordedEvent, readPlan } from '../ledger/read-plan.js';
import { rekeyEffects } from '../ledger/rekey-effects.js';
import type { Rekeying } from '../workflows/contract.js';
import { type Catalogue, ledgerNames } from './catalogue.js';
import type { Effect } from './effect.js';

/** A key as the code computes it now. */
interface ComputedKey {
  readonly effect: Effect;
  readonly businessKey: string;
}

/**
 * Gives the effects of a recorded event that have not ended the business keys that a person asked for. Asking again, as a
 * second try of the plan or a reset does, changes nothing: a key is only replaced where the recorded one is still that
 * which the person saw.
 *
 * @param compute Computes keys from the recorded body.
 * @returns The event as it is recorded now.
 * @throws {OnefoldError} `keys_differ` when this worker computes other keys than the person was shown, as one of another
 * deploy does; `replay_refused` when an effect may by now have happened under its recorded key; what `compute` throws.
 */
export async function rekeyEvent(
  { catalogue, ledger }: { readonly catalogue: Catalogue; readonly ledger: Ledger },
  recorded: RecordedEvent,
  asked: readonly Rekeying[],
  compute: (effects: readonly Effect[]) => Promise<readonly ComputedKey[]>,
): Promise<RecordedEvent> {
  const { query } = ledger.database;
  const { schema } = ledger;
  const { tenant, eventKey } = recorded;
  const wanted = recorded.effects.flatMap(({ effect: name, businessKey, ended }) => {
    const one = asked.find((rekeying) => rekeying?.effect === name);
    const effect = catalogue.effect(name);
    return !ended && effect && one?.from === businessKey ? [{ name, effect, from: one.from, to: one.to }] : [];
  });
  if (wanted.length === 0) return recorded;
  const computed = await compute(wanted.map(({ effect }) => effect));
  for (const { effect, to } of wanted) {
    const now = computed.find((key) => key.effect === effect)?.businessKey;
    if (now === to) continue;
    throw new OnefoldError(
      'keys_differ',
      `the replay was asked to rekey '${effect.name}' to ${JSON.stringify(to)}, and this worker computes ${JSON.stringify(now)}: deploy the workers, or replay again`,
    );
  }
  const blocked = await rekeyEffects(query, schema, {
    tenant,
    eventKey,
    rekeyings: wanted.map(({ name, effect, from, to }) => ({ effect: name, names: ledgerNames(effect), from, to })),
  });
  if (blocked.length > 0) {
    throw new OnefoldError(
      'replay_refused',
      `not rekeyed: ${blocked.join(', ')} may have happened under the recorded business key; resolve it first`,
    );
  }
  return (await readPlan(query, schema, tenant, eventKey)) ?? recorded;
}
