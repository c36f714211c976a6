import type { ReplayPreview } from '../operations/replay-many/preview-replay.js';
import type { NothingToReplay, ReplayManyOutcome, ReplayManyProgress } from '../operations/replay-many/replay-many.js';
import type { ReplayCounts, SetSummary } from '../operations/replay-many/set-summary.js';
import { plainLine } from './endpoints/plain-line.js';
import { bar } from './progress-line.js';

/** What a set would be, and what would be done about its events. */
export function describePreview(preview: ReplayPreview): string {
  const { size, events, oldest, newest, effects, effect, first, decisions } = preview;
  if (size === 0 || !oldest || !newest) return 'no such events: nothing to replay\n';
  const only = effect === undefined ? '' : `, of each only the effect ${effect}`;
  const groups = events.map(({ source, type, code, events: many }) => {
    const reason = code === undefined ? '' : ` ${code}`;
    return `  ${many} ${plainLine(source)} ${plainLine(type)}${reason}\n`;
  });
  const steps = effects
    .filter((one) => effect === undefined || one.effect === effect)
    .map((one) => `  ${one.effect}: ${one.left} to perform, ${one.inDoubt} in doubt, ${one.done} done\n`);
  const added = effect === undefined ? [] : [`  ${effect}: runs where the ledger has no completion of it\n`];
  const names = decisions.length > 0 ? [] : [...first.map(plainLine), ...(size > first.length ? ['…'] : [])];
  return [
    `${counted(size)}, received from ${oldest.toISOString()} to ${newest.toISOString()}${only}:\n`,
    ...groups,
    ...steps,
    ...added,
    ...names.map((name) => `  ${name}\n`),
    ...decisions.flatMap(decisionLines),
    ...(decisions.length > 0 && decisions.length < size ? [`  … and ${size - decisions.length} more: --json\n`] : []),
  ].join('');
}

function decisionLines({ event, steps, refused }: ReplayPreview['decisions'][number]): string[] {
  if (refused !== undefined) return [`  ${plainLine(event)}: would be refused: ${refused}\n`];
  return (steps ?? []).map(({ effect, businessKey, action, because }) => {
    const key = businessKey === undefined ? '' : ` ${plainLine(businessKey)}`;
    return `  ${plainLine(event)}: ${action} ${effect}${key}: ${because}\n`;
  });
}

/** A set that was frozen before, and how far it has come. */
export function describeSet({ id, size, frozenAt, by, reason, state, filter, effect, counts }: SetSummary): string {
  const only = effect === undefined ? '' : `, of each only the effect ${effect}`;
  return (
    `${id}: ${counted(size)} of ${filter}${only}, frozen ${frozenAt.toISOString()} for ${plainLine(by)}: ${plainLine(reason)}\n` +
    `  ${state}: ${countsInWords(counts)}\n`
  );
}

/** A progress line. */
export function progressInWords({ size, counts }: ReplayManyProgress): string {
  return `${bar(size - counts.open, size)} of ${size}: ${countsInWords(counts)}`;
}

/** What came of a replay of many. */
export function summaryOf(outcome: ReplayManyOutcome | NothingToReplay | (SetSummary & { outcome: string })): string {
  if (!('counts' in outcome)) return 'no such events: nothing to replay\n';
  const { id, size, counts, refusals, state } = outcome;
  const lines = refusals.map(({ event, note }) => `  ${plainLine(event)}: ${plainLine(note)}\n`);
  const more = counts.refused > refusals.length ? [`  … and ${counts.refused - refusals.length} more\n`] : [];
  const because = 'because' in outcome && outcome.because;
  const again = `onefold replay --act ${id}`;
  const end = because
    ? `It was interrupted (${because.code}: ${because.message}); ${again} goes on from here.\n`
    : state === 'open'
      ? `Stopped; ${again} goes on from here, ${again} --cancel ends it.\n`
      : '';
  const cancelled = state === 'cancelled' ? ', cancelled' : '';
  return `${counted(size)}${cancelled}: ${countsInWords(counts)} (act ${id})\n${lines.join('')}${more.join('')}${end}`;
}

const words: Readonly<Record<keyof ReplayCounts, string>> = {
  started: 'started',
  nothing_to_do: 'had nothing left to do',
  lost_race: 'were started by others meanwhile',
  refused: 'refused',
  cancelled: 'not asked for',
  open: 'left',
};

function countsInWords(counts: ReplayCounts): string {
  const all = Object.entries(words) as [keyof ReplayCounts, string][];
  const some = all.filter(([name]) => name === 'started' || counts[name] > 0);
  return some.map(([name, word]) => `${counts[name]} ${word}`).join(', ');
}

function counted(size: number): string {
  return size === 1 ? '1 event' : `${size} events`;
}
