import { type LogEntry, Runtime } from '@temporalio/worker';
import type { Logger } from '../runtime/logger.js';

/** Lines of the SDK that repeat what our own lines say, with messages and stacks that may hold a payload. */
const repeated = /^Activity (failed|completed)|^Workflow (started|completed|failed)/;

/**
 * Sends the SDK's own log lines through ours, without the errors in them. The runtime is one per process; where the
 * user has installed one already, that stays.
 *
 * @param ownSignals The process handles SIGTERM and SIGINT itself, in its own order.
 */
export function installRuntime(log: Logger, ownSignals: boolean): void {
  try {
    Runtime.install({
      logger: sdkLogger(log),
      ...(ownSignals ? { shutdownSignals: [] } : {}),
    });
  } catch {
    log.debug('the Temporal runtime of this process was installed before');
  }
}

function sdkLogger(log: Logger) {
  const write = (level: LogEntry['level'], message: string, meta: Record<string, unknown> = {}): void => {
    if (repeated.test(message)) return;
    const { workflowId, activityType, taskQueue, sdkComponent } = meta;
    const fields = { sdk: message, workflowId, activityType, taskQueue, sdkComponent };
    if (level === 'ERROR') log.error(fields, 'temporal.sdk');
    else if (level === 'WARN') log.warn(fields, 'temporal.sdk');
    else log.debug(fields, 'temporal.sdk');
  };
  return {
    log: write,
    trace: (message: string, meta?: Record<string, unknown>) => write('TRACE', message, meta),
    debug: (message: string, meta?: Record<string, unknown>) => write('DEBUG', message, meta),
    info: (message: string, meta?: Record<string, unknown>) => write('INFO', message, meta),
    warn: (message: string, meta?: Record<string, unknown>) => write('WARN', message, meta),
    error: (message: string, meta?: Record<string, unknown>) => write('ERROR', message, meta),
  };
}
