import type { Onefold } from '../onefold.js';
import { readEnvironment } from '../runtime/environment.js';
import type { OnefoldWorker } from '../worker/create-worker.js';
import { listenForSignals } from './dev/listen-for-signals.js';
import { serveMetrics } from './serve-metrics.js';
import { type ServedReceiver, serveReceiver } from './serve-receiver.js';

/** Options of the commands that run processes. */
export interface ProcessOptions {
  readonly host?: string;
  readonly port?: number;
  readonly concurrency?: number;
  /** Requests to endpoints at once. */
  readonly sends?: number;
  readonly relay?: boolean;
  /** Grace of a stopping worker, ms. */
  readonly grace?: number;
}

/** The receiver's port where nobody says. */
const defaultPort = 8080;

/** All addresses: the process stands behind a proxy, mostly in a container. */
const defaultHost = '0.0.0.0';

/** What is told over IPC to a parent that asked for it, such as `onefold dev`. */
interface Ready {
  readonly type: 'ready';
  readonly receiver: string;
  readonly sources: ServedReceiver['sources'];
}

/**
 * Runs a receiver, a worker, or both, until a signal comes. The end is orderly: the receiver answers what it has
 * accepted, then the worker lets running attempts end, then connections close. A second signal ends at once.
 *
 * @returns The exit code.
 */
export async function runProcesses(
  onefold: Onefold,
  parts: { readonly receiver: boolean; readonly worker: boolean },
  options: ProcessOptions,
): Promise<number> {
  const signals = listenForSignals();
  const environment = readEnvironment();
  const host = options.host ?? environment.host ?? defaultHost;
  let receiver: ServedReceiver | undefined;
  let worker: OnefoldWorker | undefined;
  let endMetrics: (() => void) | undefined;
  let working: Promise<void> = new Promise(() => {});
  const ended = async (): Promise<number> => {
    try {
      if (environment.metricsPort !== undefined) {
        endMetrics = await serveMetrics(onefold, { host, port: environment.metricsPort });
      }
      if (parts.worker) {
        const { concurrency, sends, relay, grace } = options;
        const ready = new Promise<void>((resolve) => {
          worker = onefold.worker({
            ownSignals: true,
            onReady: resolve,
            ...(concurrency === undefined ? {} : { concurrency }),
            ...(sends === undefined ? {} : { sends }),
            ...(relay === undefined ? {} : { relay }),
            ...(grace === undefined ? {} : { shutdownGraceMs: grace }),
          });
        });
        working = worker?.run() ?? working;
        working.catch(() => {});
        // A receiver beside its worker serves once both can work; alone it serves while Temporal is still away.
        await Promise.race([ready, working, signals.first]);
      }
      if (parts.receiver && !signals.received()) {
        receiver = await serveReceiver(onefold, {
          host,
          port: options.port ?? environment.port ?? defaultPort,
        });
        const message: Ready = { type: 'ready', receiver: receiver.url, sources: receiver.sources };
        process.send?.(message);
      }
      await Promise.race([signals.first, working]);
      return 0;
    } finally {
      await receiver?.stop();
      worker?.shutdown();
      if (worker) await working;
      endMetrics?.();
      await onefold.close();
    }
  };
  try {
    return await Promise.race([ended(), signals.second.then(() => 130)]);
  } finally {
    signals.close();
  }
}
