import { type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger };

/** Log levels, from the environment `ONEFOLD_LOG_LEVEL`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * One JSON line per decision on standard output. The message is the name of what happened (`webhook.claim`); the fields
 * say to whom. Payloads, secrets and raw headers are never given to it.
 */
export function createLogger(
  options: {
    readonly level?: LogLevel;
    readonly process?: string;
    /** Standard error, for commands whose standard output is their answer. */
    readonly toStderr?: boolean;
  } = {},
): Logger {
  const settings: LoggerOptions = {
    level: options.level ?? 'info',
    base: { process: options.process ?? 'onefold', pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    messageKey: 'msg',
  };
  return options.toStderr ? pino(settings, pino.destination({ dest: 2, sync: true })) : pino(settings);
}
