import type { RecordedAttempt } from '../ledger/publication-deliveries/list-attempts.js';
import type { ShownDelivery } from '../operations/deliveries/show-delivery.js';
import { attemptsInWords } from './attempts-in-words.js';
import { plainLine } from './endpoints/plain-line.js';

/** Plans of more attempts than this are cut. */
const plannedShown = 12;

/** Writes a delivery for people. */
export function printDelivery(delivery: ShownDelivery): string {
  const { publication, endpoint, endpointState, state, eventId, type, publishedAt, attempts, abandoned } = delivery;
  const lines = [
    `${publication} → ${endpoint} (${endpointState})`,
    `  ${state}, ${attemptsInWords(attempts)}, ${type}, webhook-id ${eventId}`,
    `  published ${publishedAt.toISOString()}`,
    ...(delivery.cause === undefined ? [] : [`  by ${JSON.stringify(delivery.cause)}`]),
    ...(abandoned ? [`  given up by ${abandoned.by}: ${abandoned.reason}`] : []),
    ...section('attempts', delivery.attemptsMade.map(attemptLine)),
    ...section('dead letter', letterLines(delivery)),
    ...section(
      'acts',
      delivery.acts.map(({ at, kind, by, reason, outcome, id }) => {
        return `${at.toISOString()} ${kind} by ${by}: ${reason} (${outcome}, act ${id})`;
      }),
    ),
    ...section('still to come', planLines(delivery)),
  ];
  return `${lines.map(plainEnd).join('\n')}\n`;
}

/** What others wrote stands in most lines; their indentation is ours. */
function plainEnd(line: string): string {
  const indented = /^ */.exec(line)?.[0] ?? '';
  return indented + plainLine(line);
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

function attemptLine({ startedAt, attempt, ended, code, status, durationMs }: RecordedAttempt): string {
  const how = [
    ended ?? 'under way, or its worker died',
    ...(status === undefined ? [] : [`HTTP ${status}`]),
    ...(code === undefined || code === `http_${status}` ? [] : [code]),
    ...(durationMs === undefined ? [] : [`${durationMs} ms`]),
  ];
  return `${startedAt.toISOString()} #${attempt} ${how.join(', ')}`;
}

function letterLines({ deadLetter }: ShownDelivery): string[] {
  if (!deadLetter) return [];
  const { code, message, occurrences, openedAt, closedAt, closedBy } = deadLetter;
  const closed = closedAt ? `, closed ${closedAt.toISOString()} by ${closedBy ?? 'somebody'}` : '';
  return [
    `${openedAt.toISOString()} ${code}: ${message} (${occurrences === 1 ? 'once' : `${occurrences} times`}${closed})`,
  ];
}

function planLines({ plan, endpointState }: ShownDelivery): string[] {
  if (!plan) return [];
  const shown = plan.attempts.slice(0, plannedShown);
  const rest = plan.attempts.length - shown.length;
  return [
    ...(plan.phase === undefined ? [] : [phaseLine(plan.phase, plan.nextTryAt, endpointState)]),
    // Whoever is held is not sent at the moment of the next look.
    ...(plan.phase === 'held' ? [] : shown.map((at) => `attempt at ${at}, if each before it fails at once`)),
    ...(plan.phase !== 'held' && rest > 0 ? [`and ${rest} more`] : []),
    `gives up at ${plan.givesUpAt}`,
  ];
}

function phaseLine(phase: string, nextTryAt: string | undefined, endpointState: string): string {
  if (phase === 'held') {
    return `held until the endpoint is enabled; it is ${endpointState} now${nextTryAt ? `, next look at ${nextTryAt}` : ''}`;
  }
  return `now ${phase}${nextTryAt ? ` until ${nextTryAt}` : ''}`;
}
