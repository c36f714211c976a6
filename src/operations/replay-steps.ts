import { type Catalogue, ledgerName, ledgerNames, subscribedEffects } from '../effects/catalogue.js';
import type { Effect } from '../effects/effect.js';
import { type ClaimRecord, readClaim } from '../ledger/read-claim.js';
import type { RecordedEffect, RecordedEvent } from '../ledger/read-plan.js';
import type { ProcessEventInput, Rekeying } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';
import type { RecomputedKey } from './recompute-keys.js';

/** What a replay does about one effect. */
export interface ReplayStep {
  readonly effect: string;
  /** Known once the event was planned. With `rekeyedFrom`, the new one. */
  readonly businessKey?: string;
  /** The recorded key that the replay replaces. */
  readonly rekeyedFrom?: string;
  /**
   * `skip`: it is done. `perform`: it runs. `recover`: its outcome is unknown, and it goes by the declared recovery.
   * `wait`: an attempt is under way, or a person has to speak first.
   */
  readonly action: 'skip' | 'perform' | 'recover' | 'wait';
  readonly because: string;
}

/** One effect that a replay is about. */
export interface ReplayedEffect {
  /** Its present name, also where this configuration lacks it: a worker may have it. */
  readonly name: string;
  /** As an earlier plan recorded it. */
  readonly recorded?: RecordedEffect;
}

/**
 * Whether nothing is left to do about a recorded effect. What was only observed is to be done by a replay, which is the wish
 * to do it here, once the effect is live.
 */
export function hasEnded(catalogue: Catalogue, { effect, ended }: RecordedEffect): boolean {
  if (!ended) return false;
  return ended.outcome !== 'observed' || catalogue.effect(effect)?.mode === 'observe';
}

/** Lists the effects of a replay: those recorded, and with them every effect that subscribes to the type by now. */
export function replayedEffects(
  catalogue: Catalogue,
  input: ProcessEventInput,
  recorded: RecordedEvent | undefined,
): readonly ReplayedEffect[] {
  const known = (recorded?.effects ?? []).map(
    (one): ReplayedEffect => ({ name: catalogue.effect(one.effect)?.name ?? one.effect, recorded: one }),
  );
  const planned = new Set(recorded?.effects.map(({ effect }) => effect));
  const subscribed = subscribedEffects(catalogue.effects, input.source, input.type).map(({ name }) => name);
  // Before the first plan, what the receiver matched is all that is known of the event's effects.
  const wanted = new Set(planned.size > 0 ? subscribed : [...input.effects, ...subscribed]);
  const added = [...wanted].filter((name) => {
    const effect = catalogue.effect(name);
    return !planned.has(effect ? ledgerName(effect) : name) && (!effect || effect.name === name);
  });
  return [...known, ...added.map((name): ReplayedEffect => ({ name }))];
}

/**
 * Says for each effect what a replay does about it: what has ended is skipped, and the ledger's claim decides about the
 * rest. It says what would be done now; an attempt that begins meanwhile may change it.
 */
export async function replaySteps(
  context: OperationsContext,
  { tenant, isPlanned }: { readonly tenant: string; readonly isPlanned: boolean },
  effects: readonly ReplayedEffect[],
  keys: ReadonlyMap<string, RecomputedKey>,
  rekeyed: readonly Rekeying[],
): Promise<readonly ReplayStep[]> {
  const { catalogue, ledger } = context;
  const because = isPlanned ? 'added since' : 'never planned';
  return Promise.all(
    effects.map(async ({ name, recorded }): Promise<ReplayStep> => {
      const effect = catalogue.effect(name);
      if (!recorded) return { effect: name, action: 'perform', because: because + lacking(effect) };
      const to = rekeyed.find((one) => one.effect === recorded.effect)?.to;
      const step = {
        effect: name,
        businessKey: to ?? recorded.businessKey,
        ...(to === undefined ? {} : { rekeyedFrom: recorded.businessKey }),
      };
      if (recorded.ended && hasEnded(catalogue, recorded)) {
        return { ...step, action: 'skip', because: recorded.ended.outcome };
      }
      const names = effect ? ledgerNames(effect) : [recorded.effect];
      const claim = await readClaim(ledger.database.query, ledger.schema, { tenant, names, ...step });
      const { action, because: why } = judgeClaim(claim, effect);
      return { ...step, action, because: `${why}${lacking(effect)}${notRecomputed(keys.get(recorded.effect))}` };
    }),
  );
}

function judgeClaim(
  claim: ClaimRecord | undefined,
  effect: Effect | undefined,
): Pick<ReplayStep, 'action' | 'because'> {
  if (!claim || claim.state === 'released') return { action: 'perform', because: 'not done' };
  if (claim.state === 'done') return { action: 'skip', because: `done by ${claim.event}` };
  if (claim.leaseRunning) {
    const until = claim.leaseUntil?.toISOString();
    return { action: 'wait', because: `an attempt for ${claim.event} has a lease until ${until}` };
  }
  if (claim.state === 'parked') return { action: 'wait', because: 'parked: needs onefold resolve' };
  // A known result survives an attempt to commit it that was cut off.
  if (claim.resultBytes !== undefined) return { action: 'perform', because: 'the call is made, its commit is not' };
  if (effect?.kind === 'local') {
    return { action: 'wait', because: 'claimed without its completion: needs onefold resolve' };
  }
  return { action: 'recover', because: `outcome unknown${effect ? `: ${effect.recovery.kind}` : ''}` };
}

function lacking(effect: Effect | undefined): string {
  return effect ? '' : '; waits for a worker that has this effect';
}

/** The recorded key stands then, so this is a warning only. */
function notRecomputed(key: RecomputedKey | undefined): string {
  return key && 'failed' in key ? `; key not recomputed: ${key.failed}` : '';
}
