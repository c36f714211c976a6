import { AsyncLocalStorage } from 'node:async_hooks';
import { displayEvent } from '../identity/event-identity.js';
import type { Ledger } from '../ledger/ledger.js';
import type { RegisteredTx } from './effect.js';
import type { ReceivedEvent } from './event.js';

/** The effect whose `commit` or `perform` is running. */
export interface EffectScope {
  readonly ledger: Ledger<RegisteredTx>;
  /** `source/event-id`. */
  readonly event: string;
  readonly effect: string;
  readonly businessKey: string;
  /** The event's; '' where there is none. */
  readonly tenant: string;
}

const running = new AsyncLocalStorage<EffectScope>();

/** The effect that the caller runs in, however deep and however late; undefined outside of any. */
export function currentEffect(): EffectScope | undefined {
  return running.getStore();
}

/**
 * Runs the user's part of an effect so that what it calls can tell in which effect it is: effects are declared before the
 * application exists, and a publication records what caused it. Effects side by side each have their own.
 */
export function runInEffect<Result>(
  parts: {
    readonly ledger: Ledger<RegisteredTx>;
    readonly effect: { readonly name: string };
    readonly event: ReceivedEvent;
    readonly businessKey: string;
  },
  run: () => Result,
): Result {
  const { ledger, effect, event, businessKey } = parts;
  const scope = { ledger, event: displayEvent(event), effect: effect.name, businessKey, tenant: event.tenant };
  return running.run(Object.freeze(scope), run);
}
