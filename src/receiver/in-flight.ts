/** Counts what has begun and not ended, so that a draining process knows when it may go. */
export interface InFlight {
  /** Counts work until it ends, either way. */
  track<Result>(work: Promise<Result>): Promise<Result>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

export function createInFlight(): InFlight {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    async track(work) {
      count++;
      try {
        return await work;
      } finally {
        count--;
        if (count === 0) {
          for (const resolve of waiting) resolve();
          waiting = [];
        }
      }
    },
    idle: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
