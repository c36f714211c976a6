import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OnefoldError } from '../../errors.js';
import { migrateLedger } from '../../ledger/migrate.js';
import { type DataFolder, openDataFolder, openEphemeralFolder } from '../../runtime/embedded/data-folder.js';
import { findTemporal } from '../../runtime/embedded/find-temporal.js';
import { type PostgresServer, startPostgresServer } from '../../runtime/embedded/postgres-server.js';
import { stopRecordedProcess } from '../../runtime/embedded/process-record.js';
import type { Progress } from '../../runtime/embedded/progress.js';
import { startTemporalServer, type TemporalServer } from '../../runtime/embedded/temporal-server.js';
import { registerSearchAttributes } from '../../runtime/register-search-attributes.js';
import { connectClient } from '../../runtime/temporal.js';
import { searchAttributeTypes } from '../../workflows/contract.js';
import { publishingEnvironment } from './publishing-environment.js';
import { runSetup } from './run-setup.js';
import type { DevSettings } from './settings.js';

/** Ends something, in order or at once. */
export type Close = (immediately: boolean) => Promise<void>;

/** What the user's code runs on. */
export interface DevServers {
  readonly temporal: { readonly address: string; readonly namespace: string; readonly uiUrl: string | undefined };
  /** With the password, where the database is ours; without, where it is the user's. For showing. */
  readonly shownDatabaseUrl: string;
  /** The data folder, which holds what else is kept of this project too. */
  readonly folder: string;
  /** The same where it holds the data of embedded servers; undefined where both servers are the user's own. */
  readonly dataPath: string | undefined;
  /** Variables by which the app finds the servers: what of ours to set, and what of the user's to leave out. */
  readonly environment: NodeJS.ProcessEnv;
  /** Resolves with the name of an embedded server that ended without being asked. */
  readonly ended: Promise<string>;
}

/** A server that answers at all answers a request for its version within this. */
const answerMs = 2_000;

/** The app's record in the data folder. */
export const appRecord = 'app.process';

/**
 * Starts the servers that are not configured, checks those that are, and brings the ledger up to date.
 *
 * @param closing Takes what must be closed, in the order of opening, also when this fails half way.
 * @throws {OnefoldError} `embedded_unavailable`, `data_folder_busy`, `temporal_unavailable`, `ledger_unavailable`.
 */
export async function startServers(settings: DevSettings, closing: Close[], progress: Progress): Promise<DevServers> {
  const { databaseUrl, temporalAddress } = settings;
  const folder = await openFolder(settings, progress);
  closing.push(() => folder.close());
  // An app of an earlier, killed start would go on taking tasks with old code.
  await stopRecordedProcess(join(folder.path, appRecord), 'SIGTERM');
  const [postgres, temporal] = await Promise.allSettled([
    openDatabase(settings, folder, progress),
    temporalAddress === undefined ? openTemporal(settings, folder, progress) : checkTemporal(progress),
  ]);
  // In this order, so that Temporal ends first: it has nothing to do with PostgreSQL, but its last tasks have.
  for (const opened of [postgres, temporal]) {
    if (opened.status === 'fulfilled' && opened.value.server !== undefined) closing.push(opened.value.server.stop);
  }
  if (postgres.status === 'rejected') throw postgres.reason;
  if (temporal.status === 'rejected') throw temporal.reason;
  return {
    temporal: temporal.value.shown,
    shownDatabaseUrl: postgres.value.shownUrl,
    folder: folder.path,
    dataPath: databaseUrl !== undefined && temporalAddress !== undefined ? undefined : folder.path,
    environment: {
      ...process.env,
      ...temporal.value.environment,
      // A database of the user's own outlives an ephemeral folder, and with it what a key from there has sealed.
      ...(await publishingEnvironment(settings.ephemeral && databaseUrl !== undefined ? undefined : folder.path)),
      DATABASE_URL: postgres.value.url,
    },
    ended: Promise.race([
      endOf('PostgreSQL', postgres.value.server?.exited),
      endOf('the Temporal dev server', temporal.value.server?.exited),
    ]),
  };
}

function openFolder(settings: DevSettings, progress: Progress): Promise<DataFolder> {
  return settings.ephemeral ? openEphemeralFolder() : openDataFolder(settings.dataFolder, progress);
}

function endOf(name: string, exited: Promise<void> | undefined): Promise<string> {
  return exited === undefined ? new Promise(() => {}) : exited.then(() => name);
}

async function openDatabase(
  settings: DevSettings,
  folder: DataFolder,
  progress: Progress,
): Promise<{ readonly url: string; readonly shownUrl: string; readonly server?: PostgresServer }> {
  const migrate = async (url: string) => {
    await migrateLedger({
      connectionString: url,
      ...(settings.schema === undefined ? {} : { schema: settings.schema }),
      onProgress: (line) => progress(`ledger: ${line}`),
    });
    if (settings.setupFile !== undefined) await runSetup(url, settings.setupFile);
  };
  if (settings.databaseUrl !== undefined) {
    const url = settings.databaseUrl;
    await migrate(url);
    return { url, shownUrl: withoutPassword(url) };
  }
  const server = await startPostgresServer({
    folder: folder.path,
    port: settings.postgresPort,
    durable: !settings.ephemeral,
    progress,
  });
  noteOtherPort('PostgreSQL', settings.postgresPort, server.port, progress);
  try {
    await migrate(server.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { url: server.url, shownUrl: server.url, server };
}

async function openTemporal(settings: DevSettings, folder: DataFolder, progress: Progress) {
  const server = await startTemporalServer({
    executable: await findTemporal(progress),
    folder: folder.path,
    inMemory: settings.ephemeral,
    port: settings.temporalPort,
    uiPort: settings.uiPort,
    searchAttributes: searchAttributeTypes,
  });
  noteOtherPort('Temporal', settings.temporalPort, portOf(`http://${server.address}`), progress);
  if (server.uiUrl !== undefined) noteOtherPort("Temporal's Web UI", settings.uiPort, portOf(server.uiUrl), progress);
  return {
    server,
    shown: { address: server.address, namespace: server.namespace, uiUrl: server.uiUrl },
    environment: await environmentOf(server, folder),
  };
}

/** Says where a server stands when its wished port was taken. */
export function noteOtherPort(name: string, wished: number, port: number, progress: Progress): void {
  if (wished !== 0 && wished !== port) progress(`port ${wished} is taken; ${name} uses ${port}`);
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/**
 * The user's variables and profile may name a cluster of theirs, with keys and certificates; none of it may reach an app
 * that belongs to the embedded server. The file also serves their `temporal` CLI, by TEMPORAL_CONFIG_FILE.
 */
async function environmentOf(server: TemporalServer, folder: DataFolder): Promise<NodeJS.ProcessEnv> {
  const file = join(folder.path, 'temporal.toml');
  await writeFile(file, `[profile.default]\naddress = "${server.address}"\nnamespace = "${server.namespace}"\n`);
  const theirs = Object.keys(process.env).filter((name) => name.startsWith('TEMPORAL_'));
  return {
    ...Object.fromEntries(theirs.map((name) => [name, undefined])),
    TEMPORAL_CONFIG_FILE: file,
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_NAMESPACE: server.namespace,
  };
}

async function checkTemporal(progress: Progress) {
  const { client, address, namespace, close } = connectClient();
  try {
    await client.withDeadline(Date.now() + answerMs, () => client.workflowService.getSystemInfo({}));
    if (!(await registerSearchAttributes(client, namespace, searchAttributeTypes))) {
      progress(`${address} does not let search attributes be registered; lists cannot be filtered by them`);
    }
  } catch (cause) {
    throw new OnefoldError(
      'temporal_unavailable',
      `Temporal at ${address} (TEMPORAL_ADDRESS) does not answer: ${(cause as Error).message}. ` +
        'Start it, or unset the variable for an embedded one.',
      { cause },
    );
  } finally {
    await close();
  }
  return { shown: { address, namespace, uiUrl: undefined }, environment: {}, server: undefined };
}

function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/[^:@/]*):[^@]*@/, '$1:***@');
}
