import type { TestWorkflowEnvironment } from '@temporalio/testing';

/** The time of a time-skipping Temporal. */
export interface SkippedTime {
  /** Lets the time be skipped that nobody works in, until the work is done. Several at once are one. */
  skipping<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Ms that were skipped since this was asked last. */
  newlySkippedMs(): Promise<number>;
}

/** Less is not worth a statement, and lies within the inaccuracy of two clocks. */
const leastMs = 100;

/** Watches over the time of an environment, which is one for all of its workflows. */
export function skippedTimeOf(environment: TestWorkflowEnvironment): SkippedTime {
  const { testService } = environment.connection as typeof environment.connection & {
    readonly testService: {
      unlockTimeSkipping(_: object): Promise<unknown>;
      lockTimeSkipping(_: object): Promise<unknown>;
    };
  };
  let waiting = 0;
  let toldMs = 0;
  // One after the other: two that unlock and lock at once could leave it the wrong way.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(step: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(step);
    last = turn.catch(() => {});
    return turn;
  };
  return {
    async skipping(work) {
      await inTurn(async () => {
        if (waiting++ === 0) await testService.unlockTimeSkipping({});
      });
      try {
        return await work();
      } finally {
        await inTurn(async () => {
          if (--waiting === 0) await testService.lockTimeSkipping({});
        });
      }
    },
    newlySkippedMs: () =>
      inTurn(async () => {
        const aheadMs = (await environment.currentTimeMs()) - Date.now();
        const newMs = aheadMs - toldMs;
        if (newMs < leastMs) return 0;
        toldMs = aheadMs;
        return newMs;
      }),
  };
}
