import { dirname, join, relative } from 'node:path';
import { freePort } from '../../runtime/embedded/free-port.js';
import type { Progress } from '../../runtime/embedded/progress.js';
import { commandToTry } from './command-to-try.js';
import { listenForSignals, type StopSignals } from './listen-for-signals.js';
import type { DevSettings } from './settings.js';
import { appRecord, type Close, type DevServers, noteOtherPort, startServers } from './start-servers.js';
import { type AppReady, type SpawnApp, superviseApp } from './supervise-app.js';
import { watchCode } from './watch-code.js';
import { writeEnvironmentFile } from './write-environment-file.js';

/** What an end that was forced by a second Ctrl-C answers, as a shell does for SIGINT. */
const forcedExitCode = 130;

/**
 * Runs the user's code on servers of its own until a signal comes: servers, migrations, the app as a child process that
 * follows each save, and at the end all of it backwards, the app first, so that what it has begun can still be recorded.
 *
 * @param spawnApp Starts the app under the environment given to it.
 * @returns The exit code: 0 after a signal, 1 when a server ended by itself, 130 when a second signal forced the end.
 * @throws {OnefoldError} What kept it from starting; whatever was started has been stopped.
 */
export async function runDev(
  settings: DevSettings,
  spawnApp: (environment: NodeJS.ProcessEnv) => ReturnType<SpawnApp>,
): Promise<number> {
  const signals = listenForSignals();
  const closing: Close[] = [];
  const out = settings.json ? process.stderr : process.stdout;
  const progress: Progress = (line) => void out.write(`${line}\n`);
  const forced = signals.second.then(async () => {
    progress('stopping at once');
    await Promise.all([...closing].reverse().map((close) => close(true)));
    return forcedExitCode;
  });
  try {
    return await Promise.race([carry(settings, spawnApp, signals, closing, progress), forced]);
  } finally {
    signals.close();
  }
}

async function carry(
  settings: DevSettings,
  spawnApp: (environment: NodeJS.ProcessEnv) => ReturnType<SpawnApp>,
  signals: StopSignals,
  closing: Close[],
  progress: Progress,
): Promise<number> {
  const startedAt = Date.now();
  try {
    const servers = await startServers(settings, closing, progress);
    if (signals.received()) return 0;
    await startApp(settings, servers, spawnApp, closing, progress, startedAt);
    const reason = await Promise.race([signals.first.then(() => undefined), servers.ended]);
    if (reason === undefined) {
      progress('stopping: the app drains, then the servers end (again to stop at once)');
      return 0;
    }
    progress(`${reason} ended without being asked${servers.dataPath ? `; its log is in ${servers.dataPath}` : ''}`);
    return 1;
  } finally {
    for (const close of [...closing].reverse()) await close(false);
  }
}

async function startApp(
  settings: DevSettings,
  servers: DevServers,
  spawnApp: (environment: NodeJS.ProcessEnv) => ReturnType<SpawnApp>,
  closing: Close[],
  progress: Progress,
  startedAt: number,
): Promise<void> {
  const port = await freePort(settings.port, settings.host);
  noteOtherPort('the receiver', settings.port, port, progress);
  const environment = { ...servers.environment, ONEFOLD_HOST: settings.host, ONEFOLD_PORT: String(port) };
  const environmentFile = await writeEnvironmentFile(servers.folder, {
    ...environment,
    ONEFOLD_CONFIG: settings.configFile,
  });
  let shown = false;
  const app = superviseApp({
    spawn: () => spawnApp(environment),
    recordFile: join(servers.folder, appRecord),
    report: progress,
    onReady: (ready, pid) => {
      if (shown) {
        progress(`the app is ready again (process ${pid})`);
        return;
      }
      shown = true;
      void showReady(settings, { ...servers, environmentFile }, ready, pid, startedAt, progress);
    },
  });
  closing.push((immediately) => app.stop(immediately));
  const folder = dirname(settings.configFile);
  const unwatch = await watchCode(folder, (file) => {
    progress(`${file} has changed; restarting the app`);
    app.restart();
  });
  closing.push(unwatch);
}

async function showReady(
  settings: DevSettings,
  servers: DevServers & { readonly environmentFile: string },
  ready: AppReady,
  appPid: number,
  startedAt: number,
  progress: Progress,
): Promise<void> {
  const { temporal, shownDatabaseUrl, dataPath, environmentFile } = servers;
  if (settings.json) {
    const line = {
      ready: true,
      receiver: ready.receiver,
      sources: ready.sources,
      temporal: { address: temporal.address, ui: temporal.uiUrl ?? null, namespace: temporal.namespace },
      postgres: { url: shownDatabaseUrl },
      data: dataPath ?? null,
      environment: environmentFile,
      pid: process.pid,
      appPid,
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
    return;
  }
  const command = await commandToTry(settings.configFile, ready.sources[0]);
  const rows: [string, string][] = [
    ...ready.sources.map(({ name, url }): [string, string] => [`source ${name}`, `POST ${url}`]),
    ...(temporal.uiUrl === undefined ? [] : [['Temporal Web UI', temporal.uiUrl] as [string, string]]),
    ['Temporal', `${temporal.address} (namespace ${temporal.namespace})`],
    ['PostgreSQL', shownDatabaseUrl],
    ...(dataPath === undefined
      ? []
      : [
          ['data', settings.ephemeral ? `${dataPath} (removed at the end)` : relativeIfBelow(dataPath)] as [
            string,
            string,
          ],
        ]),
    ['for other terminals', `. ${relativeIfBelow(environmentFile)}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  progress(['', ...lines, '', `onefold is ready after ${seconds} s. Try, in another terminal: ${command}`].join('\n'));
}

function relativeIfBelow(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}
