import type { RunStep } from './read-run.js';
import {
  type Failure,
  failureOf,
  type HistoryEvent,
  namedBy,
  type Payload,
  type Reading,
  short,
  summaryOf,
} from './run-reading.js';

/** Attempts and plans, wherever they ran. */
export async function readActivityStep(reading: Reading, event: HistoryEvent, at: Date): Promise<RunStep | undefined> {
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
  if (answer.kind !== 'ended') {
    const text = `${title}: completed with what is no attempt's answer, such as by hand; the ledger was asked`;
    return { at, what, ...named, code: 'result_unrecognised', text };
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
