import type { Onefold } from '../onefold.js';
import { operationsContext, withLog } from '../operations/context.js';
import { readEnvironment } from '../runtime/environment.js';
import { loadConfig } from './load-config.js';

/** What a command acts on. */
export type ActingContext = Onefold[typeof operationsContext];

/**
 * Loads the user's configuration for one command, carries the command out and closes what it opened. Standard output is the
 * answer's; the lines that say who acted go to standard error, as the log of a process named after the command.
 */
export async function withActingContext(
  command: string,
  config: string | undefined,
  act: (context: ActingContext) => Promise<void>,
): Promise<void> {
  const { createLogger } = await import('../runtime/logger.js');
  const environment = readEnvironment();
  const onefold = await loadConfig(config ?? environment.config);
  const { logLevel } = environment;
  const log = createLogger({ process: command, toStderr: true, ...(logLevel ? { level: logLevel } : {}) });
  try {
    await act(withLog(onefold[operationsContext], log));
  } finally {
    await onefold.close();
  }
}
