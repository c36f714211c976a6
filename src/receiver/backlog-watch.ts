import type { Client } from '@temporalio/client';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';

/** Knows how long the oldest event has been waiting for a worker. */
export interface BacklogWatch {
  /** Begins to look; safe to call again. */
  start(): void;
  /** Age of the oldest waiting task in ms; 0 where none waits, or where it is not known. */
  oldestMs(): number;
  stop(): void;
}

/** Between two looks, ms. */
const pollEveryMs = 2_000;
/** One look, ms. */
const pollMs = 1_500;

/** Temporal's numbers for task queue types: an event waits in the first until it is planned, then in the second. */
const taskQueueTypes = { workflow: 1, activity: 2 } as const;

/**
 * Looks at the task queue in the background, so that no answer waits for it. A look that fails leaves nothing known,
 * which limits nothing: where Temporal is away the start itself says so.
 */
export function createBacklogWatch(deps: {
  readonly client: Client;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly metrics: Metrics;
  readonly log: Logger;
}): BacklogWatch {
  const { client, namespace, taskQueue, metrics, log } = deps;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let oldestMs = 0;

  const ageOf = async (taskQueueType: number): Promise<number> => {
    const { stats } = await client.connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      taskQueueType,
      reportStats: true,
    });
    const age = stats?.approximateBacklogAge;
    return age ? Number(age.seconds ?? 0) * 1000 + (age.nanos ?? 0) / 1_000_000 : 0;
  };

  const look = async (): Promise<void> => {
    try {
      const ages = await client.withDeadline(Date.now() + pollMs, () =>
        Promise.all(Object.values(taskQueueTypes).map(ageOf)),
      );
      oldestMs = Math.max(...ages);
    } catch (error) {
      oldestMs = 0;
      log.debug({ reason: (error as Error).message }, 'backlog.unknown');
    }
    metrics.backlogAge.set(oldestMs / 1000);
    if (!stopped) timer = setTimeout(() => void look(), pollEveryMs).unref();
  };

  return {
    start() {
      if (timer || stopped) return;
      timer = setTimeout(() => void look(), 0).unref();
    },
    oldestMs: () => oldestMs,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
