import { type Catalogue, ledgerName, subscribedEffects } from '../effects/catalogue.js';
import type { RecordedEvent } from '../ledger/read-plan.js';
import type { ProcessEventInput } from '../workflows/contract.js';

/** What a replay does about one effect. */
export interface ReplayStep {
  readonly effect: string;
  /** Known once the event was planned. */
  readonly businessKey?: string;
  readonly action: 'skip' | 'perform';
  readonly because: string;
}

/**
 * Says for each effect of an event what a replay does about it: what has ended is skipped, the rest performed, and with
 * it every effect that subscribes to the type by now. An effect that this configuration lacks is named all the same,
 * since a worker may have it.
 */
export function replaySteps(
  catalogue: Catalogue,
  input: ProcessEventInput,
  recorded: RecordedEvent | undefined,
): readonly ReplayStep[] {
  const known = (recorded?.effects ?? []).map(({ effect, businessKey, ended }): ReplayStep => {
    const name = catalogue.effect(effect)?.name ?? effect;
    return ended
      ? { effect: name, businessKey, action: 'skip', because: ended.outcome }
      : { effect: name, businessKey, action: 'perform', because: `not done${lacking(catalogue, effect)}` };
  });
  const planned = new Set(recorded?.effects.map(({ effect }) => effect));
  const subscribed = subscribedEffects(catalogue.effects, input.source, input.type).map(({ name }) => name);
  // Before the first plan, what the receiver matched is all that is known of the event's effects.
  const wanted = new Set(planned.size > 0 ? subscribed : [...input.effects, ...subscribed]);
  const added = [...wanted].filter((name) => {
    const effect = catalogue.effect(name);
    return !planned.has(effect ? ledgerName(effect) : name) && (!effect || effect.name === name);
  });
  const because = planned.size > 0 ? 'added since' : 'never planned';
  return [
    ...known,
    ...added.map(
      (name): ReplayStep => ({ effect: name, action: 'perform', because: because + lacking(catalogue, name) }),
    ),
  ];
}

function lacking(catalogue: Catalogue, name: string): string {
  return catalogue.effect(name) ? '' : '; waits for a worker that has this effect';
}
