import { proxyActivities } from '@temporalio/workflow';
import type { Shipped } from './onefold.js';

/** What a bare workflow is given. */
export interface Message {
  readonly url: string;
  readonly eventId: string;
  readonly data: Shipped;
}

const { post } = proxyActivities<{ post(message: Message): Promise<{ status: number }> }>({
  startToCloseTimeout: '30 seconds',
});

/** One message: one activity, which does one POST. */
export async function sendMessage(message: Message): Promise<{ status: number }> {
  return post(message);
}
