import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.js';
import type { SweepResult } from './contract.js';

const { sweepClosedEvents: sweep } = proxyActivities<Pick<Activities, 'sweepClosedEvents'>>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  // The next firing of the schedule looks again from the same cursor, so there is no need to insist.
  retry: { maximumAttempts: 3 },
});

/** Writes the dead letters of events that were closed from outside; started by a schedule. */
export async function sweepClosedEvents(): Promise<SweepResult> {
  return sweep();
}
