import { setTimeout as sleep } from 'node:timers/promises';

/** How the user's code came out under its signal. */
export type Called<Result> =
  | { readonly kind: 'returned'; readonly value: Result }
  /** It ended by itself, before or after the abort. */
  | { readonly kind: 'threw'; readonly thrown: unknown }
  /** It has not ended although its signal aborted: it may act still. */
  | { readonly kind: 'given_up' };

/** How long code whose signal has aborted may take to end: a client that listens needs less. */
const endWithinMs = 500;

/**
 * Runs a call of the user's until it ends, or until shortly after its signal aborted. What it returns counts even then,
 * since it says what happened.
 */
export async function runCalled<Result>(call: () => Promise<Result>, signal: AbortSignal): Promise<Called<Result>> {
  const ended = (async (): Promise<Called<Result>> => {
    try {
      return { kind: 'returned', value: await call() };
    } catch (thrown) {
      return { kind: 'threw', thrown };
    }
  })();
  const over = new AbortController();
  const givenUp = new Promise<Called<Result>>((resolve) => {
    const onAbort = (): void => {
      sleep(endWithinMs, undefined, { signal: over.signal }).then(
        () => resolve({ kind: 'given_up' }),
        () => {},
      );
    };
    signal.addEventListener('abort', onAbort, { once: true, signal: over.signal });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([ended, givenUp]);
  } finally {
    over.abort();
  }
}
