import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { type RecoveryKind, typeFor } from './external-effects.js';
import { proofSecret } from './onefold.js';
import type { Random } from './random.js';

/** One event of a proof, and what its provider saw. */
export interface ProofEvent {
  readonly id: string;
  readonly fulfilment: string;
  /** The recovery of its external effect, where it has one. */
  readonly recovery: RecoveryKind | undefined;
  /** Deliveries that the provider makes even when the first was accepted. */
  readonly repeats: number;
  accepted: number;
  refused: number;
  readonly paths: Record<string, number>;
}

const signer = new Webhook(proofSecret);

/** A provider would wait as long; a receiver that hangs is one that lost the request. */
const answerWithinMs = 10_000;

/**
 * Delivers as a provider does: signed anew each time, to either receiver, again until it is accepted, and then some more
 * times, as if the acceptance had been lost.
 *
 * @param hopeless Asked before each delivery: true where nobody is left who could accept it.
 */
export async function deliver(
  event: ProofEvent,
  urls: readonly string[],
  random: Random,
  hopeless: () => boolean,
): Promise<void> {
  let left = event.repeats;
  while (!hopeless()) {
    const accepted = await deliverOnce(event, random.pick(urls));
    if (accepted) {
      if (left === 0) return;
      left -= 1;
    }
    await sleep(accepted ? random.whole(0, 400) : random.whole(50, 500));
  }
}

/** @returns Whether it was accepted. */
export async function deliverOnce(event: ProofEvent, url: string): Promise<boolean> {
  const body = JSON.stringify({ type: typeFor(event.recovery), data: { fulfilment: event.fulfilment } });
  const now = new Date();
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': event.id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': signer.sign(event.id, now, body),
      },
      body,
      signal: AbortSignal.timeout(answerWithinMs),
    });
    await response.arrayBuffer();
    const path = response.headers.get('onefold-path') ?? `status_${response.status}`;
    event.paths[path] = (event.paths[path] ?? 0) + 1;
    if (response.ok) event.accepted += 1;
    else event.refused += 1;
    return response.ok;
  } catch {
    event.refused += 1;
    event.paths.no_answer = (event.paths.no_answer ?? 0) + 1;
    return false;
  }
}
