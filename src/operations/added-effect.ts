import { type Catalogue, effectFor, ledgerNames } from '../effects/catalogue.js';
import { OnefoldError } from '../errors.js';
import type { RecordedEvent } from '../ledger/read-plan.js';
import type { NamedEvent } from './read-event-name.js';
import type { ReplayedEffect } from './replay-steps.js';

/**
 * The one effect that a replay is to run, of an event that is done without it. Of an event that is not done, running one
 * effect alone would complete the workflow, and the next delivery would be a duplicate of something that never happened.
 *
 * @throws {OnefoldError} `effect_unknown` where the configuration has no such effect; `replay_refused` where it does not act
 * on the event's type, and where the event has more to do than this effect.
 */
export function addedEffect(
  catalogue: Catalogue,
  event: NamedEvent,
  recorded: RecordedEvent | undefined,
  name: string,
): ReplayedEffect {
  const effect = catalogue.effect(name);
  const displayed = `${event.source}/${event.id}`;
  if (!effect) throw unknownEffect(catalogue, name);
  if (!recorded) {
    throw new OnefoldError('replay_refused', `${displayed} was never planned: replay it whole, without an effect`);
  }
  if (!effectFor(catalogue, name, recorded)) {
    throw new OnefoldError(
      'replay_refused',
      `the effect '${effect.name}' does not act on '${recorded.type}' of source '${recorded.source}'`,
    );
  }
  const names = ledgerNames(effect);
  const others = recorded.effects.filter((one) => !names.includes(one.effect));
  const own = recorded.effects.find((one) => names.includes(one.effect));
  const isLeft = others.some(({ ended }) => !ended);
  // Its own run may have failed before; what it left is a dead letter with nothing else to do.
  const failedAlone = recorded.state === 'dead_lettered' && own !== undefined && others.length > 0;
  const isDone = ['done', 'ignored'].includes(recorded.state) || failedAlone;
  if (!isDone || isLeft) {
    throw new OnefoldError(
      'replay_refused',
      `${displayed} is ${recorded.state}, and not done without '${effect.name}': replay it whole, without an effect`,
    );
  }
  return { name: effect.name, ...(own ? { recorded: own } : {}) };
}

/** Says that the configuration lacks an effect, and what it has. */
export function unknownEffect(catalogue: Catalogue, name: string): OnefoldError {
  const has = catalogue.effects.map((effect) => effect.name).join(', ');
  return new OnefoldError('effect_unknown', `no effect '${name}' in the configuration; it has ${has || 'none'}`);
}
