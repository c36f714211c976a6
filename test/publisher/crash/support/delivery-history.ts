import type { WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';

/** What a person reads in the Web UI of a delivery's run. */
export interface DeliveryHistory {
  /** Attempts: activities that were scheduled. */
  readonly sends: number;
  /** Ends of attempts that were written down by an activity of their own. */
  readonly recordings: number;
  /** The summaries of its timers, in order: why it waits. */
  readonly waits: readonly string[];
}

export async function readHistory(handle: WorkflowHandle): Promise<DeliveryHistory> {
  const { events } = await handle.fetchHistory();
  const types = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  const waits: string[] = [];
  for (const { timerStartedEventAttributes, userMetadata } of events ?? []) {
    if (!timerStartedEventAttributes) continue;
    const { summary } = userMetadata ?? {};
    waits.push(summary ? String(defaultPayloadConverter.fromPayload(summary)) : '');
  }
  return {
    sends: types.filter((type) => type === 'sendPublication').length,
    recordings: types.filter((type) => type === 'recordSend').length,
    waits,
  };
}
