import { inUnits } from '../operations/trace/in-units.js';
import { shellWord } from '../operations/trace/shell-word.js';
import type {
  Ambiguous,
  Trace,
  TraceChoice,
  Traced,
  TracedEffect,
  TracedEvent,
  TracedPublication,
  TraceEntry,
} from '../operations/trace/trace.js';
import { attemptsInWords } from './attempts-in-words.js';
import { plainLine } from './endpoints/plain-line.js';

/** Lines of a timeline that are shown from its beginning and from its end, unless all are asked for. */
const shownFirst = 40;
const shownLast = 80;

/** Deliveries that a head lists one by one; the timeline has them all. */
const listedDeliveries = 12;

/** Writes a trace for people: first what is done and by whom, then whom to suspect and what to do, then the whole story. */
export function printTrace(trace: Trace, { full }: { readonly full: boolean }): string {
  const lines = trace.outcome === 'ambiguous' ? choiceLines(trace) : tracedLines(trace, full);
  return `${lines.map(plainEnd).join('\n')}\n`;
}

/** What others wrote stands in most lines; their indentation is ours. */
function plainEnd(line: string): string {
  const indented = /^ */.exec(line)?.[0] ?? '';
  return indented + plainLine(line);
}

function choiceLines({ identity, choices, part, more }: Ambiguous): string[] {
  return [
    part ? `nothing is called ${identity}; it is part of these:` : `${identity} may mean several things:`,
    ...choices.map((choice) => `  ${commandOf(choice).padEnd(60)}  ${aboutChoice(choice)}`),
    ...(more ? ['  and more: give more of the name, or --tenant'] : []),
  ];
}

function commandOf({ tenant, name, effect }: TraceChoice): string {
  const words = effect === undefined ? [name] : [effect, name];
  // Without it all tenants would be searched again.
  return `onefold trace ${words.map(shellWord).join(' ')} --tenant ${shellWord(tenant)}`;
}

function aboutChoice({ kind, state, at }: TraceChoice): string {
  const parts = [kind.replace('_', ' '), ...(state ? [state] : []), ...(at ? [at.toISOString()] : [])];
  return `# ${parts.join(', ')}`;
}

function tracedLines(trace: Traced, full: boolean): string[] {
  const { events, claims, publications, suspects, next, timeline, cut, temporal, at } = trace;
  return [
    ...(temporal.state === 'unreachable'
      ? [`Temporal did not answer (${temporal.reason}): this is what the ledger knows.`]
      : []),
    ...(temporal.state === 'skipped' ? ['Temporal was not asked: this is what the ledger knows.'] : []),
    ...events.flatMap(eventLines),
    ...claims.map(({ effect, businessKey, state, event, doneAt, adoptedBy }) => {
      const how = adoptedBy === null ? `by ${event}` : `adopted by act ${adoptedBy}`;
      return `${effect} ${businessKey}: ${state}, ${how}${doneAt ? ` at ${doneAt.toISOString()}` : ''}`;
    }),
    ...publications.flatMap(publicationLines),
    ...section(
      'suspect',
      suspects.map(({ code, text }) => `${code}: ${text}`),
    ),
    ...section(
      'next',
      next.map(({ act, command, why }) => (command === undefined ? `${act}: ${why}` : `${command}   # ${why}`)),
    ),
    ...section('timeline', timelineLines(timeline, at, full, events.length + publications.length > 1)),
    ...section('left out', cut),
  ];
}

function eventLines(event: TracedEvent): string[] {
  const { deadLetters, acts, abandoned } = event;
  const tenant = event.tenant === '' ? '' : ` (tenant ${event.tenant})`;
  const temporal = event.temporal === 'not_asked' ? 'not known' : event.temporal;
  const replays = acts.filter(({ kind }) => kind === 'replay');
  const letter = deadLetters.find(({ closedAt }) => closedAt === null);
  return [
    `${event.event}${tenant}${event.type === undefined ? '' : ` ${event.type}`}: ${event.ledger} in the ledger, ${temporal} in Temporal`,
    ...event.effects.flatMap((effect) => effectLines(event, effect)),
    ...(event.effects.length === 0 ? ['  no effect is planned'] : []),
    ...deliveryLines(event),
    ...replays.map(({ by, at, reason, outcome, id }) => {
      return `  replayed by ${by} at ${at.toISOString()}: ${reason} (${outcome}, act ${id})`;
    }),
    ...(letter ? [`  dead letter since ${letter.openedAt.toISOString()}: ${letter.code}: ${letter.message}`] : []),
    ...(abandoned ? [`  given up by ${abandoned.by}: ${abandoned.reason}`] : []),
  ];
}

function effectLines(event: TracedEvent, effect: TracedEffect): string[] {
  const { claim, outcome, done, doneBy, attempts } = effect;
  const tries = attempts === undefined ? '' : `, ${attemptsInWords(attempts)} for this event`;
  const name = `  ${effect.effect} ${effect.businessKey}`;
  if (!done || !claim) {
    const state = outcome ?? (claim ? `${claim.state} by ${claim.event}` : 'never begun');
    return [`${name}: not done (${state}${tries})`];
  }
  const how: string[] = [];
  if (claim.adoptedBy !== null) how.push('adopted');
  else if (doneBy) {
    if (doneBy.eventKey !== event.eventKey) how.push(`by ${doneBy.event}`);
    if (doneBy.attempt !== undefined) how.push(`by attempt ${doneBy.attempt}`);
    if (doneBy.runId !== undefined) how.push(`of run ${doneBy.runId}`);
    if (doneBy.delivery !== undefined) how.push(`started by delivery ${doneBy.delivery}`);
    if (doneBy.replay) how.push(`started by the replay of ${doneBy.replay.by}`);
  }
  const at = claim.doneAt ? ` at ${claim.doneAt.toISOString()}` : '';
  return [`${name}: done ${how.join(' ')}${at} (fence ${claim.fence}${tries})`];
}

const meanings: Readonly<Record<string, string>> = {
  first_run: 'started the event',
  retry_after_failure: 'started it again after a failure',
  duplicate_done: 'no-op: it was done',
  in_progress_elsewhere: 'no-op: it was being processed',
  ignored: 'no-op: no effect subscribed',
};

function deliveryLines({ deliveries }: TracedEvent): string[] {
  const [first] = deliveries;
  if (!first) return [];
  const listed = deliveries.slice(0, listedDeliveries).map(({ path, status, code }, index) => {
    return `    ${index + 1}. ${path ?? 'refused'}: ${meanings[path ?? ''] ?? code ?? 'not taken'} (${status})`;
  });
  const rest = first.of - listed.length;
  return [
    `  delivered ${first.of === 1 ? 'once' : `${first.of} times`}`,
    ...listed,
    ...(rest > 0 ? [`    and ${rest} more`] : []),
  ];
}

function publicationLines(publication: TracedPublication): string[] {
  const { tenant, publication: name, type, webhookId, cause, deliveries } = publication;
  const by = cause?.effect === undefined ? '' : ` by ${cause.effect} of ${cause.event}`;
  return [
    `publication ${name}${tenant === '' ? '' : ` (tenant ${tenant})`} ${type}, webhook-id ${webhookId}${by}`,
    ...deliveries.map(({ endpoint, endpointState, state, attempts }) => {
      const held = endpointState === 'enabled' ? '' : `, its endpoint is ${endpointState}`;
      return `  → ${endpoint}: ${state}, ${attemptsInWords(attempts)}${held}`;
    }),
    ...(deliveries.length === 0 ? ['  no endpoint subscribed'] : []),
  ];
}

function timelineLines(entries: readonly TraceEntry[], now: Date, full: boolean, named: boolean): string[] {
  const fits = full || entries.length <= shownFirst + shownLast;
  const line = (entry: TraceEntry): string => timelineLine(entry, now, named);
  if (fits) return entries.map(line);
  const left = entries.length - shownFirst - shownLast;
  return [
    ...entries.slice(0, shownFirst).map(line),
    `… ${left} lines left out; --full shows them`,
    ...entries.slice(-shownLast).map(line),
  ];
}

function timelineLine({ at, from, text, of }: TraceEntry, now: Date, named: boolean): string {
  const ago = `${inUnits(Math.max(0, now.getTime() - at.getTime()))} ago`;
  return `${at.toISOString()} ${ago.padStart(12)}  ${from.padEnd(8)}  ${named ? `${of}: ` : ''}${text}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)];
}
