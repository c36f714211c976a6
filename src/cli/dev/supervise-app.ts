import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { type Guard, guardProcess } from '../../runtime/embedded/guard-process.js';
import { recordProcess } from '../../runtime/embedded/process-record.js';
import type { Progress } from '../../runtime/embedded/progress.js';

/** What the child says over IPC once it takes requests and polls for tasks. */
export interface AppReady {
  /** Where the receiver stands: `http://127.0.0.1:8080/webhooks`. */
  readonly receiver: string;
  readonly sources: readonly { readonly name: string; readonly url: string }[];
}

/** Starts the user's code in a process of its own, with an IPC channel. */
export type SpawnApp = () => ChildProcess;

export interface SuperviseAppOptions {
  readonly spawn: SpawnApp;
  /** Where its process id is kept, so that a later start finds one that was left behind; undefined for nowhere. */
  readonly recordFile: string | undefined;
  /** Called each time that a child is ready. */
  readonly onReady: (ready: AppReady, pid: number) => void;
  readonly report: Progress;
}

/** The keeper of the child process. */
export interface AppSupervisor {
  /** Drains the child and starts a new one with the code as it is now. Several calls at once make one restart. */
  restart(): void;
  /** Ends the child after draining, or at once. */
  stop(immediately?: boolean): Promise<void>;
}

interface App {
  readonly process: ChildProcess;
  readonly exited: Promise<void>;
  readonly startedAt: number;
  /** Whether its end was our wish. */
  asked: boolean;
  ready: boolean;
}

/** More than the worker's own grace, so that it is never cut short by a save. */
const drainMs = 30_000;

/** A child that is killed sooner than this is started again only after it: something kills each one. */
const shortLifeMs = 1_000;

/** What a person or the kernel ends a process with. Other signals, as SIGSEGV or SIGABRT, are its own crash. */
const signalsFromOutside: ReadonlySet<NodeJS.Signals> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP']);

/**
 * Keeps one child process with the user's code.
 *
 * - starting: becomes ready by its message.
 * - starting or ready, on a save: drains, then a new one starts.
 * - starting or ready, ended from outside by a signal: a new one starts at once. Its work is in Temporal and PostgreSQL.
 * - starting or ready, ended by itself: its error is on the screen, and starting the same code again would only repeat
 *   it; the next save starts a new one.
 *
 * When this process dies in any of these, the child's guard asks it to end, and it drains.
 */
export function superviseApp(options: SuperviseAppOptions): AppSupervisor {
  let current: App | undefined;
  let closed = false;
  let restarting = false;
  let savedAgain = false;
  let later: NodeJS.Timeout | undefined;

  function start(): void {
    clearTimeout(later);
    if (closed) return;
    const app = launch(options);
    current = app;
    app.process.on('message', (message) => {
      if (!isReady(message) || app.asked) return;
      app.ready = true;
      options.onReady(message, app.process.pid ?? 0);
    });
    app.process.once('exit', (code, signal) => {
      if (!app.asked) takeEnd(app, code, signal);
    });
  }

  function takeEnd(app: App, code: number | null, signal: NodeJS.Signals | null): void {
    current = undefined;
    if (closed) return;
    const name = `the app (process ${app.process.pid})`;
    // Asked to end by somebody else's signal, a ready app drains and ends without an error.
    if ((signal !== null && signalsFromOutside.has(signal)) || (code === 0 && app.ready)) {
      options.report(`${name} was ended from outside by ${signal ?? 'a signal'}; starting it again`);
      later = setTimeout(start, Date.now() - app.startedAt < shortLifeMs ? shortLifeMs : 0);
    } else {
      const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
      options.report(`${name} ended ${how}; see its error above. The next save starts it again`);
    }
  }

  async function restart(): Promise<void> {
    savedAgain = true;
    if (restarting) return;
    restarting = true;
    while (savedAgain && !closed) {
      savedAgain = false;
      await end(current, drainMs);
      start();
    }
    restarting = false;
  }

  start();
  return {
    restart: () => void restart(),
    async stop(immediately = false) {
      closed = true;
      clearTimeout(later);
      await end(current, immediately ? 0 : drainMs);
    },
  };
}

function launch(options: SuperviseAppOptions): App {
  const child = options.spawn();
  const guard: Guard | undefined = child.pid === undefined ? undefined : guardProcess(child.pid, 'SIGTERM');
  const exited = new Promise<void>((resolve) => {
    child.once('exit', resolve);
    child.once('error', (error) => {
      options.report(`the app cannot be started: ${error.message}`);
      resolve();
    });
  });
  void exited.then(() => guard?.release());
  if (options.recordFile !== undefined && child.pid !== undefined) {
    // Without the record the guard still ends it.
    recordProcess(options.recordFile, child.pid).catch(() => {});
  }
  return { process: child, exited, startedAt: Date.now(), asked: false, ready: false };
}

async function end(app: App | undefined, patienceMs: number): Promise<void> {
  if (app === undefined) return;
  app.asked = true;
  if (patienceMs > 0) {
    app.process.kill('SIGTERM');
    const waited = new AbortController();
    await Promise.race([app.exited, pause(patienceMs, undefined, { signal: waited.signal }).catch(() => {})]);
    waited.abort();
  }
  app.process.kill('SIGKILL');
  await app.exited;
}

function isReady(message: unknown): message is AppReady {
  const { type, receiver, sources } = (message ?? {}) as { type?: unknown; receiver?: unknown; sources?: unknown };
  return type === 'ready' && typeof receiver === 'string' && Array.isArray(sources);
}
