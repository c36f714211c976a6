import type { Onefold } from '../onefold.js';
import { readEnvironment } from '../runtime/environment.js';
import { listenForSignals } from './dev/listen-for-signals.js';
import { serveMetrics } from './serve-metrics.js';

/**
 * Runs a relay until a signal comes. The end is orderly: the starts under way end and are marked, what was taken beyond them
 * is given back. A second signal ends at once.
 *
 * @returns The exit code.
 */
export async function runRelay(onefold: Onefold): Promise<number> {
  const signals = listenForSignals();
  const { metricsPort, host = '0.0.0.0' } = readEnvironment();
  const relay = onefold.relay();
  const ended = async (): Promise<number> => {
    let endMetrics: (() => void) | undefined;
    let running: Promise<void> | undefined;
    try {
      if (metricsPort !== undefined) endMetrics = await serveMetrics(onefold, { host, port: metricsPort });
      running = relay.run();
      await Promise.race([signals.first, running]);
      return 0;
    } finally {
      relay.shutdown();
      await running;
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
