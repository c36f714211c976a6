import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { operationsContext, withLog } from '../../operations/context.js';
import type { EndpointAct, EndpointsDependencies } from '../../operations/endpoints/endpoints-dependencies.js';
import type { EndpointsApi } from '../../operations/endpoints/tenant-endpoints.js';
import { readEnvironment } from '../../runtime/environment.js';
import { configOption } from '../config-option.js';
import { loadConfig } from '../load-config.js';

/** What every command about endpoints takes. */
export interface EndpointFlags {
  readonly config?: string;
  readonly tenant?: string;
  readonly json?: boolean;
}

/** What a command that changes one takes beside that. */
export interface ActFlags extends EndpointFlags {
  readonly by?: string;
  readonly reason?: string;
}

/** Adds the options of every command about the endpoints of a tenant. */
export function withTenantOptions(command: Command): Command {
  return withCommonOptions(
    command.option('--tenant <name>', 'tenant of the endpoint (default: the one without a name)'),
  );
}

/** Adds those of a command about all tenants. */
export function withCommonOptions(command: Command): Command {
  return command.option('--json', 'print the outcome as JSON').option(...configOption);
}

/** Adds who acts and why. */
export function withActOptions(command: Command): Command {
  return command
    .option('--by <name>', 'who asks for it; logged, and of a move recorded (default: the user of this process)')
    .option(
      '--reason <text>',
      'why; logged, of a move recorded, and of pause, disable and remove kept with the endpoint',
    );
}

/** Reads who acts and why. */
export function actOf({ by, reason }: ActFlags): EndpointAct {
  return { by: by ?? userInfo().username, ...(reason === undefined ? {} : { reason }) };
}

/** Runs work on the endpoints of the tenant that the options name. */
export function runOnEndpoints(flags: EndpointFlags, work: (endpoints: EndpointsApi) => Promise<void>): Promise<void> {
  return runOnAll(flags, async (deps) => {
    const { tenantEndpoints } = await import('../../operations/endpoints/tenant-endpoints.js');
    await work(tenantEndpoints(deps, flags.tenant ?? ''));
  });
}

/** Runs work on the configuration that the options name, and closes what it opened. */
export async function runOnAll(
  flags: Omit<EndpointFlags, 'tenant'>,
  work: (deps: EndpointsDependencies) => Promise<void>,
): Promise<void> {
  const { createLogger } = await import('../../runtime/logger.js');
  const { config, logLevel } = readEnvironment();
  const onefold = await loadConfig(flags.config ?? config);
  // Standard output is the answer's; the line that says who did what belongs to the log all the same.
  const log = createLogger({ process: 'endpoints', toStderr: true, ...(logLevel ? { level: logLevel } : {}) });
  try {
    await work(withLog(onefold[operationsContext], log));
  } finally {
    await onefold.close();
  }
}

/** Prints an outcome: as JSON where that was asked for, else in words. */
export function print<Outcome>({ json }: EndpointFlags, outcome: Outcome, inWords: (outcome: Outcome) => string): void {
  process.stdout.write(json ? `${JSON.stringify(outcome)}\n` : inWords(outcome));
}
