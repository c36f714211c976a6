import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { type Environment, portNumber, readEnvironment } from '../runtime/environment.js';
import type { DevSettings } from './dev/settings.js';
import { findConfig } from './load-config.js';

/** Options as commander gives them. */
interface DevOptions {
  readonly config?: string;
  readonly data?: string;
  readonly setup?: string;
  readonly host?: string;
  readonly port?: string;
  readonly temporalPort?: string;
  readonly uiPort?: string;
  readonly postgresPort?: string;
  readonly ephemeral?: boolean;
  readonly json?: boolean;
}

/** Temporal's own defaults, so that its CLI finds the server untold. */
const defaultTemporalPort = 7233;
const defaultUiPort = 8233;
const defaultPort = 8080;
/** Far from 5432, where a developer's own PostgreSQL is or will be. */
const defaultPostgresPort = 55432;
/** Not reachable from other machines: what runs here is development. */
const defaultHost = '127.0.0.1';

/** Starts the process that runs the user's code, with an IPC channel. */
export type SpawnConfiguredApp = (configFile: string, environment: NodeJS.ProcessEnv) => ChildProcess;

/**
 * `onefold dev`: receiver, worker, Temporal and PostgreSQL on one machine, following each save.
 *
 * @param spawnApp What runs the user's code. Default `onefold run`.
 */
export function devCommand(spawnApp: SpawnConfiguredApp = spawnRun): Command {
  return new Command('dev')
    .description(
      'Run receiver and worker with a Temporal server and a PostgreSQL of their own, restarting them on each save. ' +
        'TEMPORAL_ADDRESS and DATABASE_URL, where set, are used instead of starting the server they name. ' +
        'A port that is taken is replaced by the next free one.',
    )
    .option('--config <file>', 'module that exports `onefold` (ONEFOLD_CONFIG; default onefold.ts)')
    .option('--data <folder>', "the servers' data, kept between starts (ONEFOLD_DATA; default .onefold)")
    .option('--setup <file>', "SQL run before the app starts, such as the app's own tables (ONEFOLD_SETUP)")
    .option('--ephemeral', 'keep the data in a temporary folder and remove it at the end (ONEFOLD_EPHEMERAL)')
    .option('--host <address>', `address the receiver listens on (ONEFOLD_HOST; default ${defaultHost})`)
    .option('--port <number>', `port of the receiver, 0 for any (ONEFOLD_PORT; default ${defaultPort})`)
    .option('--temporal-port <number>', `port of Temporal (ONEFOLD_TEMPORAL_PORT; default ${defaultTemporalPort})`)
    .option('--ui-port <number>', `port of Temporal's Web UI (ONEFOLD_UI_PORT; default ${defaultUiPort})`)
    .option('--postgres-port <number>', `port of PostgreSQL (ONEFOLD_POSTGRES_PORT; default ${defaultPostgresPort})`)
    .option('--json', 'print one line of JSON on standard output when ready, and texts for people on standard error')
    .action(async (options: DevOptions) => {
      // Loaded here, so that help and complaints come without it.
      const { forgetOwnServers } = await import('./dev/forget-own-servers.js');
      const { dataFolderPlace } = await import('../runtime/embedded/data-folder.js');
      const { dataFolder } = readSettings(options, readEnvironment(), process.env.TEMPORAL_ADDRESS);
      await forgetOwnServers(await dataFolderPlace(dataFolder), process.env);
      const settings = readSettings(options, readEnvironment(), process.env.TEMPORAL_ADDRESS);
      const { runDev } = await import('./dev/run-dev.js');
      // At once: a download or a start that was given up may still hold the event loop.
      process.exit(await runDev(settings, (environment) => spawnApp(settings.configFile, environment)));
    });
}

/**
 * Joins options and environment; options win.
 *
 * @throws {OnefoldError} `config_invalid` for a port that is none; `config_missing` without a configuration.
 */
export function readSettings(
  options: DevOptions,
  environment: Environment,
  temporalAddress: string | undefined,
): DevSettings {
  const port = (given: string | undefined, option: string, set: number | undefined, otherwise: number) =>
    given === undefined ? (set ?? otherwise) : portNumber(given, option);
  const setup = options.setup ?? environment.setup;
  return {
    configFile: findConfig(options.config ?? environment.config),
    host: options.host ?? environment.host ?? defaultHost,
    port: port(options.port, '--port', environment.port, defaultPort),
    temporalPort: port(options.temporalPort, '--temporal-port', environment.temporalPort, defaultTemporalPort),
    uiPort: port(options.uiPort, '--ui-port', environment.uiPort, defaultUiPort),
    postgresPort: port(options.postgresPort, '--postgres-port', environment.postgresPort, defaultPostgresPort),
    dataFolder: options.data ?? environment.data ?? '.onefold',
    ephemeral: options.ephemeral ?? environment.ephemeral ?? false,
    json: options.json ?? false,
    setupFile: setup === undefined ? undefined : resolve(setup),
    schema: environment.schema,
    databaseUrl: environment.databaseUrl,
    temporalAddress: temporalAddress === '' ? undefined : temporalAddress,
  };
}

/** Receiver and worker in one process, started from the same sources or build as this one. */
function spawnRun(configFile: string, environment: NodeJS.ProcessEnv): ChildProcess {
  const fromSources = import.meta.url.endsWith('.ts');
  const main = fileURLToPath(new URL(fromSources ? './main.ts' : './main.js', import.meta.url));
  const loader = fromSources ? ['--import', 'tsx'] : [];
  return spawn(process.execPath, [...loader, main, 'run', '--config', configFile], {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Out of reach of the terminal's Ctrl-C: it is asked to end when its turn has come.
    detached: true,
  });
}
