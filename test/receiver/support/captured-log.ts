import { pino } from 'pino';
import type { Logger } from '../../../src/runtime/logger.js';

/** A log line as it was written. */
export type LogLine = Record<string, unknown> & { readonly msg: string; readonly level: string };

/** A logger that keeps its lines. */
export function captureLog(): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const log = pino(
    { level: 'debug', formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  return { log, lines };
}
