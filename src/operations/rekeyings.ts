import { ledgerNames } from '../effects/catalogue.js';
import { OnefoldError } from '../errors.js';
import { readClaim } from '../ledger/read-claim.js';
import type { RecordedEvent } from '../ledger/read-plan.js';
import type { Rekeying } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';
import type { RecomputedKey } from './recompute-keys.js';

/**
 * Judges effects whose business key the code computes otherwise than it was recorded. Another key is another happening, so
 * nobody but a person may say that the new ones are meant.
 *
 * @param rekey That person has said so.
 * @returns The keys that are to be replaced.
 * @throws {OnefoldError} `keys_differ` without that word; `replay_refused` where the effect may have happened under its old
 * key, since it would happen again under the new one.
 */
export async function rekeyings(
  { catalogue, ledger }: OperationsContext,
  recorded: RecordedEvent | undefined,
  keys: ReadonlyMap<string, RecomputedKey>,
  rekey: boolean,
): Promise<readonly Rekeying[]> {
  if (!recorded) return [];
  const differing = recorded.effects.flatMap(({ effect, businessKey: from }): Rekeying[] => {
    const now = keys.get(effect);
    return now && 'key' in now && now.key !== from ? [{ effect, from, to: now.key }] : [];
  });
  if (differing.length > 0 && !rekey) {
    const each = differing.map(
      ({ effect, from, to }) => `'${effect}': recorded ${JSON.stringify(from)}, computed ${JSON.stringify(to)}`,
    );
    throw new OnefoldError(
      'keys_differ',
      `the code computes other business keys than the recorded ones: ${each.join('; ')}. Mend the key function, or replay with --rekey if the new keys are meant`,
    );
  }
  for (const { effect: name, from } of differing) {
    const effect = catalogue.effect(name);
    const names = effect ? ledgerNames(effect) : [name];
    const { database, schema } = ledger;
    const claim = await readClaim(database.query, schema, { tenant: recorded.tenant, names, businessKey: from });
    const never =
      !claim || claim.state === 'released' || (claim.state === 'done' && claim.eventKey !== recorded.eventKey);
    if (never) continue;
    throw new OnefoldError(
      'replay_refused',
      `'${name}' may have happened under its old business key ${JSON.stringify(from)}, which is ${claim.state}, and would happen again under the new one: say what became of it first, with onefold resolve`,
    );
  }
  return differing;
}
