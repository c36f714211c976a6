import { inUnits } from './in-units.js';
import { readActivityStep } from './read-activity-step.js';
import { readBoundsStep } from './read-bounds-step.js';
import type { RunStep, TracedRun } from './read-run.js';
import { readWordStep } from './read-word-step.js';
import { type Decode, type HistoryEvent, momentOf, namedBy, type Reading, summaryOf } from './run-reading.js';

/**
 * Tells a run from its history: how it began, each attempt and pause, what it was told, how it ended. It reads no body and
 * no result.
 *
 * What a reset copied from the run before it is left out where `keepCopied` does not say otherwise, since that run tells it.
 */
export async function readHistory(
  runId: string,
  events: readonly HistoryEvent[],
  decode: Decode,
  { keepCopied = false, cut = false }: { readonly keepCopied?: boolean; readonly cut?: boolean } = {},
): Promise<TracedRun> {
  const reading: Reading = {
    decode,
    activities: new Map(),
    timers: new Map(),
    updates: new Map(),
    steps: [],
    run: {},
  };
  for (const event of events) {
    const step = await readStep(reading, event);
    if (step?.what === 'reset' && !keepCopied) reading.steps = [];
    if (step) reading.steps.push(step);
  }
  const { run, steps } = reading;
  for (const { name, summary, at } of reading.activities.values()) {
    if (name === 'attemptEffect' && run.endedAt === undefined) {
      steps.push({ at, what: 'attempt', ...namedBy(summary), text: `${summary}: under way, or waiting for a worker` });
    }
  }
  for (const { summary, at, ms } of reading.timers.values()) {
    if (run.endedAt !== undefined) continue;
    const until = new Date(at.getTime() + ms).toISOString();
    steps.push({ at, what: 'pause', text: `pausing until ${until}: ${summary}` });
  }
  return {
    runId,
    startedAt: new Date(0),
    status: 'running',
    planned: false,
    ...run,
    steps: steps.sort((one, other) => one.at.getTime() - other.at.getTime()),
    cut,
  };
}

async function readStep(reading: Reading, event: HistoryEvent): Promise<RunStep | undefined> {
  const at = momentOf(event);
  return (
    (await readActivityStep(reading, event, at)) ??
    (await readWordStep(reading, event, at)) ??
    (await readTimer(reading, event, at)) ??
    (await readBoundsStep(reading, event, at))
  );
}

/** Pauses: each is told at its end, since only then it is known how long it was. */
async function readTimer(reading: Reading, event: HistoryEvent, at: Date): Promise<RunStep | undefined> {
  const started = event.timerStartedEventAttributes;
  if (started) {
    const ms = Number(started.startToFireTimeout?.seconds ?? 0) * 1000 + (started.startToFireTimeout?.nanos ?? 0) / 1e6;
    reading.timers.set(String(event.eventId), { summary: await summaryOf(reading, event), at, ms });
    return undefined;
  }
  const ended = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
  const timer = ended && reading.timers.get(String(ended.startedEventId));
  if (!ended || !timer) return undefined;
  reading.timers.delete(String(ended.startedEventId));
  const early = event.timerCanceledEventAttributes
    ? `, ended early after ${inUnits(at.getTime() - timer.at.getTime())}`
    : '';
  return { at: timer.at, what: 'pause', text: `pause of ${inUnits(timer.ms)}${early}: ${timer.summary}` };
}
