import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { workflowNames } from '../workflows/contract.js';

/** Well within the shortest retention that a namespace outside of tests has. */
const sweepEvery = '10 minutes';

/**
 * Makes sure that the schedule exists which looks for events closed from outside. One per task queue, whoever comes
 * first; the others find it.
 */
export async function ensureSweeper(client: Client, taskQueue: string): Promise<void> {
  try {
    await client.schedule.create({
      scheduleId: `onefold-sweep/${taskQueue}`,
      spec: { intervals: [{ every: sweepEvery }] },
      policies: { overlap: ScheduleOverlapPolicy.SKIP },
      action: {
        type: 'startWorkflow',
        workflowType: workflowNames.sweepClosedEvents,
        workflowId: `sweep/${taskQueue}`,
        taskQueue,
        args: [],
      },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}
