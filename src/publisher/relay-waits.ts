import type { Logger } from '../runtime/logger.js';

/** What a relay stands on, and cannot do without. */
export type RelayServer = 'postgres' | 'temporal';

/** How a relay waits: for something to do, and for a server that is away. */
export interface RelayWaits {
  /** Ends the idling, or the next one at once. */
  readonly wake: () => void;
  /** Waits until woken, stopped, or so many ms are over. */
  idle(ms: number): Promise<void>;
  /** Notes that a server failed, says so at the first and at every 30th time, and waits for longer each time. */
  failure(server: RelayServer, error: unknown): Promise<void>;
  /** Notes a failure as {@link failure} does; {@link pauseAfterFailure} waits. */
  note(server: RelayServer, error: unknown): void;
  /** Waits where a failure was noted since the last wait. */
  pauseAfterFailure(): Promise<void>;
  succeeded(server: RelayServer): void;
  /** Whether the server failed when it was last asked. */
  failed(server: RelayServer): boolean;
}

/** Pauses after failures, ms; the last one is repeated. */
const pausesMs = [500, 1_000, 2_000, 5_000];

/** A line for the first failure, and for every so many more. */
const linesApart = 30;

/** Makes the waits of one relay. */
export function createRelayWaits(log: Logger, signal: AbortSignal): RelayWaits {
  const failures = { postgres: 0, temporal: 0 };
  let noted: RelayServer | undefined;
  let woken = false;
  let end: (() => void) | undefined;

  const wait = (ms: number, wakeable: boolean): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        end = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done, { once: true });
      if (wakeable) end = done;
      if (signal.aborted) done();
    });

  const waits: RelayWaits = {
    wake() {
      woken = true;
      end?.();
    },
    async idle(ms) {
      if (!woken) await wait(ms, true);
      woken = false;
    },
    async failure(server, error) {
      waits.note(server, error);
      await waits.pauseAfterFailure();
    },
    note(server, error) {
      noted = server;
      if (failures[server] % linesApart === 0 && !signal.aborted) {
        log.warn({ server, reason: (error as Error)?.message ?? String(error) }, 'relay.waiting');
      }
      failures[server] += 1;
    },
    async pauseAfterFailure() {
      if (noted === undefined) return;
      const count = failures[noted];
      noted = undefined;
      await wait(pausesMs[Math.min(count, pausesMs.length) - 1] as number, false);
    },
    succeeded(server) {
      if (failures[server] > 0) log.info({ server }, 'relay.resumed');
      failures[server] = 0;
    },
    failed: (server) => failures[server] > 0,
  };
  return waits;
}
