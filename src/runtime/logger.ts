import { type Logger, pino } from 'pino';

export type { Logger };

/** Log levels, from the environment `ONEFOLD_LOG_LEVEL`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * One JSON line per decision on standard output. The message is the name of what happened (`webhook.claim`); the fields
 * say to whom. Payloads, secrets and raw headers are never given to it.
 */
export function createLogger(options: { readonly level?: LogLevel; readonly process?: string } = {}): Logger {
  return pino({
    level: options.level ?? 'info',
    base: { process: options.process ?? 'onefold', pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    messageKey: 'msg',
  });
}
