import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { OnefoldError } from '../../errors.js';
import { registerSearchAttributes, type SearchAttributeTypes } from '../register-search-attributes.js';
import { freePort } from './free-port.js';
import { makeFolder } from './make-folder.js';
import { stopRecordedProcess } from './process-record.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

/** A dev server on a loaded machine with a large database needs seconds; minutes mean that it hangs. */
const readyTimeoutMs = 60_000;
const pollMs = 20;
/** How often another process may take the port between the look and the bind. */
const portAttempts = 5;

/**
 * A dev server's shards are few, and its defaults cost 50 ms per hop and make every timer under a second take one.
 * Both values are for one machine, not for production.
 */
const quickDynamicConfig = ['history.transferProcessorMaxPollRPS=2000', 'history.timerProcessorMaxTimeShift="20ms"'];

/** One endpoint's backlog then does not stand before another's; see docs/publishing.md. */
const fairDynamicConfig = ['matching.enableFairness=true'];

/** The dev server's own options, chosen once: what a durable development database needs, without an fsync per commit. */
const sqlitePragmas = ['journal_mode=WAL', 'synchronous=NORMAL'];

export interface TemporalServerOptions {
  /** The Temporal CLI; see `findTemporal`. */
  readonly executable: string;
  /** Holds the log, the record of the process and, unless `inMemory`, the database. Created where missing. */
  readonly folder: string;
  /** Nothing is kept over a restart. Default false. */
  readonly inMemory?: boolean;
  /** Wished port of the server; the next free one is taken, any for 0. */
  readonly port: number;
  /** Wished port of the Web UI; undefined for none. */
  readonly uiPort?: number;
  /** Search attributes to register in `default`. */
  readonly searchAttributes: SearchAttributeTypes;
  /** Further dynamic configuration, `key=JSON`. */
  readonly dynamicConfig?: readonly string[];
}

/** A Temporal server that serves. */
export interface TemporalServer {
  /** `host:port`, for TEMPORAL_ADDRESS. */
  readonly address: string;
  readonly namespace: 'default';
  /** The Web UI, or undefined without one. */
  readonly uiUrl: string | undefined;
  readonly pid: number;
  /** Resolves when it has ended, for whatever reason; it is never restarted by itself. */
  readonly exited: Promise<void>;
  stop(immediately?: boolean): Promise<void>;
}

/**
 * Starts Temporal's dev server on 127.0.0.1 and resolves when it serves the namespace `default`. One that an earlier,
 * killed start left on the same folder is ended first: two servers on one database file would corrupt each other.
 *
 * @throws {OnefoldError} `embedded_unavailable` with the end of its log when it does not come up.
 */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  await makeFolder(options.folder);
  await stopRecordedProcess(join(options.folder, 'temporal.process'), 'SIGINT');
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(options.port);
    const uiPort = options.uiPort === undefined ? undefined : await otherFreePort(options.uiPort, port);
    const server = await spawnServer(options, port, uiPort);
    if (await isServing(server, port, options.searchAttributes)) {
      return {
        address: `127.0.0.1:${port}`,
        namespace: 'default',
        uiUrl: uiPort === undefined ? undefined : `http://127.0.0.1:${uiPort}`,
        pid: server.pid,
        exited: server.exited,
        stop: server.stop,
      };
    }
    // It also chooses ports of its own for its inner services, and ends when another process takes one of them first.
    const mayHaveLostPort = server.hasExited();
    await server.stop();
    if (!mayHaveLostPort || attempt === portAttempts) {
      throw new OnefoldError(
        'embedded_unavailable',
        `the Temporal dev server did not come up on port ${port}. The end of its log:\n${await server.logTail()}`,
      );
    }
  }
}

async function otherFreePort(wished: number, taken: number): Promise<number> {
  const port = await freePort(wished);
  return port === taken ? freePort(taken + 1) : port;
}

function spawnServer(options: TemporalServerOptions, port: number, uiPort: number | undefined): Promise<ServerProcess> {
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'];
  if (uiPort === undefined) args.push('--headless');
  else args.push('--ui-port', String(uiPort), '--ui-disable-news-fetch');
  if (options.inMemory !== true) {
    args.push('--db-filename', join(options.folder, 'temporal.db'));
    for (const pragma of sqlitePragmas) args.push('--sqlite-pragma', pragma);
  }
  for (const [name, type] of Object.entries(options.searchAttributes))
    args.push('--search-attribute', `${name}=${type}`);
  for (const value of [...quickDynamicConfig, ...fairDynamicConfig, ...(options.dynamicConfig ?? [])]) {
    args.push('--dynamic-config-value', value);
  }
  return startServerProcess({
    name: 'the Temporal dev server',
    command: options.executable,
    args,
    env: withoutTemporalVariables(process.env),
    cwd: options.folder,
    logFile: join(options.folder, 'temporal.log'),
    recordFile: join(options.folder, 'temporal.process'),
    stopSteps: [
      { signal: 'SIGINT', patienceMs: 10_000 },
      { signal: 'SIGKILL', patienceMs: 5_000 },
    ],
  });
}

/** The CLI reads the same variables as the SDK, which name the server to talk to, not the one to start. */
function withoutTemporalVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

async function isServing(
  server: ServerProcess,
  port: number,
  searchAttributes: SearchAttributeTypes,
): Promise<boolean> {
  const deadline = Date.now() + readyTimeoutMs;
  while (Date.now() < deadline && !server.hasExited()) {
    // gRPC backs off for a second after a refused connection, so it is only asked once something listens.
    if ((await accepts(port)) && (await servesNamespace(port, searchAttributes))) return !server.hasExited();
    await pause(pollMs);
  }
  return false;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The option of the command registers search attributes when it makes a database, and adds none to an existing one. */
async function servesNamespace(port: number, searchAttributes: SearchAttributeTypes): Promise<boolean> {
  try {
    const connection = await Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: 2_000, tls: false });
    try {
      const client = new Client({ connection });
      await client.withDeadline(Date.now() + 2_000, () =>
        client.workflowService.describeNamespace({ namespace: 'default' }),
      );
      return await registerSearchAttributes(client, 'default', searchAttributes);
    } finally {
      await connection.close();
    }
  } catch {
    return false;
  }
}
