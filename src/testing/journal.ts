import { pino } from 'pino';
import type { Logger } from '../runtime/logger.js';

/** One line of the kit's log, as a worker or receiver wrote it. */
export interface JournalLine {
  readonly level: string;
  /** What happened: `effect.done`, `webhook.claim`, … */
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The log of a test kit, kept in memory. */
export interface Journal {
  readonly log: Logger;
  readonly lines: readonly JournalLine[];
  /** What happened to an effect under a business key, or to an event, in lines for people. */
  storyOf(about: { readonly effect: string; readonly businessKey: string } | { readonly eventKey: string }): string;
}

/** Lines kept; a suite that writes more tells its story from the latest. */
const linesKept = 10_000;

/** Makes a log that a failed assertion can tell its story from. */
export function createJournal(): Journal {
  const lines: JournalLine[] = [];
  const write = (line: string): void => {
    lines.push(JSON.parse(line));
    if (lines.length > linesKept) lines.shift();
  };
  return {
    log: pino({ level: 'info', base: {}, formatters: { level: (label) => ({ level: label }) } }, { write }),
    lines,
    storyOf(about) {
      const fields = Object.entries(about);
      const told = lines.filter((line) => fields.every(([field, value]) => line[field] === value));
      return told.length === 0 ? '  (the log says nothing of it)' : told.map(inWords).join('\n');
    },
  };
}

function inWords({ msg, attempt, event, path, outcome, code, recovery, step }: JournalLine): string {
  const which = attempt === undefined ? '' : ` attempt ${attempt}`;
  const what = [path, step, outcome, code, recovery].filter((part) => part !== undefined).join(' ');
  return `  ${msg}${which}${what === '' ? '' : `: ${what}`}${event === undefined ? '' : ` (${event})`}`;
}
