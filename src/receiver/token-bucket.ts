/** Takes one request from a rate, or says how long until the next one may come. */
export interface TokenBucket {
  /** @returns 0 when the request may pass, else the seconds, at least 1, after which one will. */
  take(): number;
}

/**
 * A rate limit of one process: `perSecond` requests on average, `burst` at once.
 *
 * @param clock Monotonic ms.
 */
export function createTokenBucket(
  rate: { readonly perSecond: number; readonly burst: number },
  clock: () => number = () => performance.now(),
): TokenBucket {
  let tokens = rate.burst;
  let filledAt = clock();
  return {
    take() {
      const now = clock();
      tokens = Math.min(rate.burst, tokens + ((now - filledAt) / 1000) * rate.perSecond);
      filledAt = now;
      if (tokens >= 1) {
        tokens -= 1;
        return 0;
      }
      return Math.max(1, Math.ceil((1 - tokens) / rate.perSecond));
    },
  };
}
