import type { WorkflowHandle } from '@temporalio/client';

/** How often each kind of event stands in a run's history: `{ activityTaskScheduled: 2, … }`. */
export async function countEvents(handle: WorkflowHandle): Promise<Record<string, number>> {
  const { events } = await handle.fetchHistory();
  const counts: Record<string, number> = {};
  for (const event of events ?? []) {
    for (const [field, value] of Object.entries(event)) {
      if (!field.endsWith('EventAttributes') || !value) continue;
      const kind = field.slice(0, -'EventAttributes'.length);
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
  }
  return counts;
}
