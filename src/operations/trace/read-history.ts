import type { Client } from '@temporalio/client';
import { cutText } from '../../identity/cut-text.js';
import { inUnits } from './in-units.js';
import type { RunStep, TracedRun } from './read-run.js';

type HistoryResponse = Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>;
/** An event of a history as Temporal's API has it. */
export type HistoryEvent = NonNullable<NonNullable<HistoryResponse['history']>['events']>[number];
type Payload = NonNullable<NonNullable<HistoryEvent['userMetadata']>['summary']>;
type Failure = NonNullable<HistoryEvent['activityTaskFailedEventAttributes']>['failure'];

/** Reads one payload, however it was encoded. */
export type Decode = (payload: Payload | null | undefined) => Promise<unknown>;

/** A run in the making. */
interface Reading {
  readonly decode: Decode;
  readonly activities: Map<string, { readonly name: string; readonly summary: string; readonly at: Date }>;
  readonly timers: Map<string, { readonly summary: string; readonly at: Date; readonly ms: number }>;
  readonly updates: Map<string, string>;
  steps: RunStep[];
  run: { -readonly [Field in keyof TracedRun]?: TracedRun[Field] };
}

/** Messages of failures and reasons of people are cut to this on a line. */
const textLimit = 400;

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
    (await readActivity(reading, event, at)) ??
    (await readWord(reading, event, at)) ??
    (await readTimer(reading, event, at)) ??
    (await readBounds(reading, event, at))
  );
}

/** Attempts and plans, wherever they ran. */
async function readActivity(reading: Reading, event: HistoryEvent, at: Date): Promise<RunStep | undefined> {
  const scheduled = event.activityTaskScheduledEventAttributes;
  if (scheduled) {
    const name = scheduled.activityType?.name ?? '';
    reading.activities.set(String(event.eventId), { name, summary: await summaryOf(reading, event), at });
    return undefined;
  }
  const marker = event.markerRecordedEventAttributes;
  if (marker?.markerName === 'core_local_activity') {
    const data = (await reading.decode(marker.details?.data?.payloads?.[0])) as { activity_type?: string } | undefined;
    const result = marker.details?.result?.payloads?.[0];
    const ran = { name: data?.activity_type ?? '', summary: await summaryOf(reading, event) };
    return readEnd(reading, at, ran, { result, failure: marker.failure });
  }
  const ended =
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskCanceledEventAttributes;
  if (!ended) return undefined;
  const ran = reading.activities.get(String(ended.scheduledEventId));
  reading.activities.delete(String(ended.scheduledEventId));
  if (!ran) return undefined;
  if (event.activityTaskCanceledEventAttributes) {
    return readEnd(reading, at, ran, { cancelled: true });
  }
  return readEnd(reading, at, ran, {
    result: event.activityTaskCompletedEventAttributes?.result?.payloads?.[0],
    failure:
      event.activityTaskFailedEventAttributes?.failure ?? event.activityTaskTimedOutEventAttributes?.failure ?? null,
  });
}

interface ActivityEnd {
  readonly result?: Payload | null | undefined;
  readonly failure?: Failure;
  readonly cancelled?: boolean;
}

async function readEnd(
  reading: Reading,
  at: Date,
  { name, summary }: { readonly name: string; readonly summary: string },
  end: ActivityEnd,
): Promise<RunStep | undefined> {
  if (name !== 'attemptEffect' && name !== 'planEvent') return undefined;
  const what = name === 'planEvent' ? 'plan' : 'attempt';
  const named = what === 'plan' ? {} : namedBy(summary);
  const title = summary || what;
  if (end.cancelled) return { at, what, ...named, code: 'cancelled', text: `${title}: stopped` };
  if (end.failure) {
    const { code, message } = await failureOf(reading, end.failure);
    return { at, what, ...named, code, text: `${title}: ${code}${message ? `: ${message}` : ''}` };
  }
  const answer = ((await reading.decode(end.result)) ?? {}) as {
    kind?: string;
    message?: string;
    names?: readonly string[];
    plan?: { effects?: readonly { effect?: string; indexedKey?: string }[]; abandoned?: unknown };
    end?: { outcome?: string; fence?: number; doneBy?: string; otherData?: boolean; code?: string };
  };
  if (answer.kind === 'use_regular') {
    return { at, what, ...named, text: `${title}: may not run beside the workflow; asked for again by the task queue` };
  }
  if (what === 'plan') {
    if (answer.kind === 'effects_unknown') {
      const names = (answer.names ?? []).join(', ');
      return { at, what, code: 'effect_unknown', text: `${title}: this worker lacks ${names || 'the source'}` };
    }
    reading.run.planned = true;
    const planned = (answer.plan?.effects ?? []).map(({ effect, indexedKey }) => `${effect} ${indexedKey}`);
    return { at, what, text: `${title}: ${planned.join(', ') || 'nothing to run'}` };
  }
  if (answer.kind === 'parked') {
    return { at, what, ...named, code: 'effect_parked', text: `${title}: parked: ${short(answer.message ?? '')}` };
  }
  const { outcome = 'ended', fence, doneBy, otherData, code } = answer.end ?? {};
  const by = doneBy === undefined ? '' : ` by ${doneBy}`;
  const doubt = code === undefined ? '' : `, ${code}`;
  const other = otherData ? ', whose data were other ones' : '';
  return {
    at,
    what,
    ...named,
    outcome,
    ...(fence === undefined ? {} : { fence }),
    ...(code === undefined ? {} : { code }),
    ...(otherData ? { otherData } : {}),
    text: `${title}: ${outcome}${by}${other}${fence === undefined ? '' : ` (fence ${fence})`}${doubt}`,
  };
}

/** What people and programs told the run. */
async function readWord(reading: Reading, event: HistoryEvent, at: Date): Promise<RunStep | undefined> {
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

/** How the run began and ended, and what befell its workflow tasks. */
async function readBounds(reading: Reading, event: HistoryEvent, at: Date): Promise<RunStep | undefined> {
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

async function failureOf(reading: Reading, failure: Failure): Promise<{ code: string; message: string }> {
  // An activity's or a child's failure is wrapped; the innermost one that says more is meant.
  const inner = failure?.cause && !failure.applicationFailureInfo ? failure.cause : failure;
  const timeout = inner?.timeoutFailureInfo;
  if (timeout) {
    // TIMEOUT_TYPE_HEARTBEAT
    const beat = timeout.timeoutType === 4;
    return {
      code: 'attempt_timed_out',
      message: beat ? 'its worker died or froze' : 'the server saw no end of it in time',
    };
  }
  const encoded = (await reading.decode(inner?.encodedAttributes)) as { message?: unknown } | undefined;
  const message = typeof encoded?.message === 'string' ? encoded.message : (inner?.message ?? '');
  return { code: inner?.applicationFailureInfo?.type || 'effect_threw', message: short(message) };
}

async function summaryOf(reading: Reading, { userMetadata }: HistoryEvent): Promise<string> {
  const summary = await reading.decode(userMetadata?.summary);
  return typeof summary === 'string' ? summary : '';
}

/** The workflow labels its attempts `attempt 2 of 15 · ship-order · shipment:42`. */
function namedBy(summary: string): { readonly effect?: string; readonly attempt?: number } {
  const [, attempt, effect] = /^attempt (\d+) of \d+ · (.+?) · /.exec(summary) ?? [];
  return effect === undefined ? {} : { effect, attempt: Number(attempt) };
}

function momentOf({ eventTime }: HistoryEvent): Date {
  return new Date(Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6);
}

function short(text: string): string {
  return cutText(text.replace(/\s+/g, ' ').trim(), textLimit);
}
