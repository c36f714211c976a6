import { proxySinks, type Sinks } from '@temporalio/workflow';

/** Log lines of workflows, written by the worker once and not again when a history is replayed. */
export interface LogSinks extends Sinks {
  readonly onefold: {
    line(level: 'info' | 'warn', message: string, fields: Record<string, unknown>): void;
  };
}

/** Writes one log line: the name of what happened, and to whom. Never a payload. */
export function logLine(level: 'info' | 'warn', message: string, fields: Record<string, unknown>): void {
  proxySinks<LogSinks>().onefold.line(level, message, fields);
}
