import { AsyncLocalStorage } from 'node:async_hooks';
import { displayEvent, eventKey } from '../identity/event-identity.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Metrics } from '../runtime/metrics.js';
import { sha256 } from '../runtime/sha256.js';
import type { RegisteredTx } from './effect.js';
import type { ReceivedEvent } from './event.js';

/** The effect whose `commit` or `perform` is running. */
export interface EffectScope {
  readonly ledger: Ledger<RegisteredTx>;
  /** Of the process, where it has any: what is published in the effect is counted there. */
  readonly metrics: Pick<Metrics, 'published'> | undefined;
  /** `source/event-id`. */
  readonly event: string;
  readonly effect: string;
  readonly businessKey: string;
  /** The event's; '' where there is none. */
  readonly tenant: string;
  /** Made when it is asked for, since most effects publish nothing. Undefined for an event that has no key, as in tests. */
  readonly eventKey: string | undefined;
}

/** Emptied when the user's function settles: what was created inside it keeps the holder, and may live on for ever. */
interface Holder {
  scope: EffectScope | undefined;
}

const running = new AsyncLocalStorage<Holder>();

/**
 * The effect that the caller runs in, however deep. Undefined outside of any, and in whatever outlives the user's function:
 * a poller, a batcher or a pool that was made inside one effect later works for others.
 */
export function currentEffect(): EffectScope | undefined {
  return running.getStore()?.scope;
}

/**
 * Runs the user's part of an effect so that what it calls can tell in which effect it is: effects are declared before the
 * application exists, and a publication records what caused it. Effects side by side each have their own, and each ends when
 * its function settles.
 */
export async function runInEffect<Result>(
  parts: {
    readonly ledger: Ledger<RegisteredTx>;
    readonly metrics: EffectScope['metrics'];
    readonly effect: { readonly name: string };
    readonly event: ReceivedEvent;
    readonly businessKey: string;
  },
  run: () => Result,
): Promise<Awaited<Result>> {
  const { ledger, metrics, effect, event, businessKey } = parts;
  const { tenant } = event;
  const scope = {
    ledger,
    metrics,
    event: displayEvent(event),
    effect: effect.name,
    businessKey,
    tenant,
    get eventKey() {
      return keyOf(event);
    },
  };
  const holder: Holder = { scope: Object.freeze(scope) };
  try {
    return await running.run(holder, run);
  } finally {
    holder.scope = undefined;
  }
}

/** An effect must not fail for want of a trace: the event that it is given need not have come through the receiver. */
function keyOf({ tenant, source, id }: ReceivedEvent): string | undefined {
  try {
    return eventKey({ tenant, source, id }, sha256);
  } catch {
    return undefined;
  }
}
