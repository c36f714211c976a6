import { type LogEntry, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { Logger } from '../runtime/logger.js';

/** Lines of the SDK that repeat what our own lines say, with messages and stacks that may hold a payload. */
const repeated = /^Activity (failed|completed)|^Workflow (started|completed|failed)/;

/**
 * Sends the SDK's own log lines through ours, without the errors in them. The runtime is one per process; where the
 * user has installed one already, that stays.
 *
 * @param options.ownSignals The process handles SIGTERM and SIGINT itself, in its own order.
 * @param options.forwardCore The lines of the SDK's native part come this way too, instead of on standard error.
 */
export function installRuntime(
  log: Logger,
  { ownSignals = false, forwardCore = false }: { readonly ownSignals?: boolean; readonly forwardCore?: boolean } = {},
): void {
  try {
    Runtime.install({
      logger: sdkLogger(log),
      ...(ownSignals ? { shutdownSignals: [] } : {}),
      ...(forwardCore
        ? { telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) } } }
        : {}),
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
