import { setTimeout as sleep } from 'node:timers/promises';

/** Lets so many through in a second, evenly. */
export interface Pacer {
  /** Resolves when it is one's turn, or when the signal has aborted. */
  turn(signal?: AbortSignal): Promise<void>;
}

/** Makes a pacer of this process. Time that nobody used is not saved up, so that there is no burst after a pause. */
export function createPacer(perSecond: number): Pacer {
  let nextAt = performance.now();
  return {
    async turn(signal) {
      const now = performance.now();
      const at = Math.max(nextAt, now);
      nextAt = at + 1000 / perSecond;
      if (at > now) await sleep(at - now, undefined, signal ? { signal } : {}).catch(() => {});
    },
  };
}
