import type { RunStep } from './read-run.js';
import { type HistoryEvent, type Reading, short } from './run-reading.js';

/** What people and programs told the run. */
export async function readWordStep(reading: Reading, event: HistoryEvent, at: Date): Promise<RunStep | undefined> {
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal) {
    const given = ((await reading.decode(signal.input?.payloads?.[0])) ?? {}) as { effect?: unknown };
    const effect = typeof given.effect === 'string' ? ` ${given.effect}` : '';
    return {
      at,
      what: 'signal',
      text: `signal ${signal.signalName}${effect}, sent by ${signal.identity || 'somebody'}`,
    };
  }
  const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
  if (accepted) {
    const { name } = accepted.acceptedRequest?.input ?? {};
    reading.updates.set(String(event.eventId), name ?? 'update');
    const payload = accepted.acceptedRequest?.input?.args?.payloads?.[0];
    const { by, reason } = ((await reading.decode(payload)) ?? {}) as { by?: unknown; reason?: unknown };
    return { at, what: 'update', text: short(`${name} asked by ${by ?? 'somebody'}: ${reason ?? ''}`) };
  }
  const answered = event.workflowExecutionUpdateCompletedEventAttributes;
  if (answered) {
    const name = reading.updates.get(String(answered.acceptedEventId)) ?? 'update';
    const said = ((await reading.decode(answered.outcome?.success?.payloads?.[0])) ?? {}) as {
      abandoned?: boolean;
      because?: string;
    };
    const came = said.abandoned === false ? `refused: ${said.because ?? ''}` : 'carried out';
    return { at, what: 'update', text: short(`${name} ${came}`) };
  }
  const asked = event.workflowExecutionCancelRequestedEventAttributes;
  if (asked) return { at, what: 'cancel_requested', text: short(`cancel asked by ${asked.identity}: ${asked.cause}`) };
  return undefined;
}
