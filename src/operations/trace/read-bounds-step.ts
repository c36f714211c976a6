import type { RunStep, TracedRun } from './read-run.js';
import { failureOf, type HistoryEvent, type Reading, short } from './run-reading.js';

/** How the run began and ended, and what befell its workflow tasks. */
export async function readBoundsStep(reading: Reading, event: HistoryEvent, at: Date): Promise<RunStep | undefined> {
  const { run } = reading;
  const started = event.workflowExecutionStartedEventAttributes;
  if (started) {
    const input = ((await reading.decode(started.input?.payloads?.[0])) ?? {}) as {
      receivedAt?: string;
      replay?: TracedRun['replay'];
      carried?: { plan?: unknown };
    };
    run.startedAt = at;
    if (typeof input.receivedAt === 'string') run.receivedAt = input.receivedAt;
    if (input.replay) {
      const { id, by, reason } = input.replay;
      run.replay = { id, by, reason };
    }
    if (input.carried?.plan) run.planned = true;
    if (started.continuedExecutionRunId) run.continuedFrom = started.continuedExecutionRunId;
    return { at, what: 'run_started', text: 'run started' };
  }
  const task = event.workflowTaskFailedEventAttributes;
  if (task?.baseRunId) {
    run.startedAt = at;
    run.resetFrom = task.baseRunId;
    // Whatever ended or was told the run before is in its history, not in this one's.
    delete run.endedAt;
    return { at, what: 'reset', text: short(`reset from run ${task.baseRunId}: ${task.failure?.message ?? ''}`) };
  }
  if (event.workflowTaskTimedOutEventAttributes) {
    return {
      at,
      what: 'book_keeping',
      code: 'worker_lost',
      text: 'a workflow task got no answer: its worker died or froze',
    };
  }
  const end = await readRunEnd(reading, event);
  if (!end) return undefined;
  run.endedAt = at;
  run.status = end.status;
  return { at, what: 'run_ended', ...(end.code === undefined ? {} : { code: end.code }), text: short(end.text) };
}

async function readRunEnd(
  reading: Reading,
  event: HistoryEvent,
): Promise<{ readonly status: string; readonly text: string; readonly code?: string } | undefined> {
  const completed = event.workflowExecutionCompletedEventAttributes;
  if (completed) {
    const result = ((await reading.decode(completed.result?.payloads?.[0])) ?? {}) as { outcome?: string };
    return { status: 'completed', text: `run completed${result.outcome ? `: ${result.outcome}` : ''}` };
  }
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed) {
    const { code, message } = await failureOf(reading, failed.failure);
    return { status: 'failed', code, text: `run failed: ${code}: ${message}` };
  }
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  if (terminated) {
    return {
      status: 'terminated',
      text: `run terminated by ${terminated.identity || 'the server'}: ${terminated.reason}`,
    };
  }
  if (event.workflowExecutionCanceledEventAttributes) return { status: 'canceled', text: 'run cancelled' };
  if (event.workflowExecutionTimedOutEventAttributes) return { status: 'timed_out', text: 'run timed out' };
  const next = event.workflowExecutionContinuedAsNewEventAttributes;
  if (next) return { status: 'continued_as_new', text: `run continued as run ${next.newExecutionRunId}` };
  return undefined;
}
