import type { Logger } from '../../runtime/logger.js';
import type { Metrics } from '../../runtime/metrics.js';
import { within } from '../../runtime/within.js';
import type { Ledger } from '../ledger.js';
import { hourOf, insertRejections, lockRejections } from './insert-rejections.js';
import type { RejectedCount, RejectedRequest } from './rejection.js';

/** What is refused, as it is counted. */
export interface Rejection {
  readonly source: string;
  readonly code: string;
  readonly reason: string;
  readonly receivedAt: Date;
}

/** Counts refused requests and keeps a few of them, off the answers' path. */
export interface RejectionRecorder {
  /**
   * Counts a refusal, and takes a sample of it where it is among the first of its source and hour. Never waits, never throws.
   *
   * @param sample Called only then, since it costs something.
   */
  record(rejection: Rejection, sample: () => RejectedRequest): void;
  /** Resolves when all that was counted so far is written, or lost. */
  flush(): Promise<void>;
  /** Flushes; what comes later is lost. */
  close(): Promise<void>;
}

/** Samples that one process takes of one source and hour, and of those at most so many for one code. */
const samplesOfProcess = 20;
const samplesOfCode = 10;
/** How long counts wait for company, ms: one row is written again for each batch of a flood. */
const batchDelayMs = 1_000;
/** One write, ms: a database that accepts and never answers must not hold a connection for ever. */
const writeTimeoutMs = 3_000;

/**
 * Makes a recorder. It opens nothing and starts no timer before the first refusal.
 *
 * Sources, codes and reasons are closed sets, so what is held between two writes is bounded however many requests come.
 * While PostgreSQL is away it is lost: a write that fails is not repeated, and counted as lost evidence.
 */
export function createRejectionRecorder(deps: {
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly log: Logger;
}): RejectionRecorder {
  const { ledger, metrics, log } = deps;
  let counts = new Map<string, RejectedCount>();
  let samples: RejectedRequest[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let closed = false;
  const mayTake = createSampler();

  const write = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (counts.size === 0) return;
    const counted = [...counts.values()];
    const sampled = samples;
    counts = new Map();
    samples = [];
    try {
      await writeRejections(ledger, counted, sampled);
    } catch (error) {
      const requests = counted.reduce((sum, { count }) => sum + count, 0);
      metrics.evidenceLost.inc(requests);
      const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
      log.warn({ requests, reason: String(code ?? name ?? 'unknown') }, 'rejected.not_written');
    }
  };
  const flush = (): Promise<void> => {
    // One after the other, so that a process never holds more than one connection for this.
    writing = writing.then(write);
    return writing;
  };

  return {
    record(rejection, sample) {
      if (closed) return metrics.evidenceLost.inc();
      const { source, code, reason, receivedAt } = rejection;
      const hour = hourOf(receivedAt);
      const key = JSON.stringify([hour.getTime(), source, code, reason]);
      const earlier = counts.get(key);
      counts.set(key, { hour, source, code, reason, count: (earlier?.count ?? 0) + 1 });
      if (mayTake(rejection, hour)) samples.push(sample());
      timer ??= setTimeout(() => void flush(), batchDelayMs);
    },
    flush,
    async close() {
      closed = true;
      await flush();
    },
  };
}

/** The first of each source and hour, and not of one code alone, which a flood would fill them with. */
function createSampler(): (rejection: Rejection, hour: Date) => boolean {
  let current = 0;
  let taken = new Map<string, number>();
  const add = (key: string): void => void taken.set(key, (taken.get(key) ?? 0) + 1);
  return ({ source, code }, hour) => {
    if (hour.getTime() !== current) {
      current = hour.getTime();
      taken = new Map();
    }
    const ofCode = `${source} ${code}`;
    if ((taken.get(source) ?? 0) >= samplesOfProcess || (taken.get(ofCode) ?? 0) >= samplesOfCode) return false;
    add(source);
    add(ofCode);
    return true;
  };
}

async function writeRejections(
  { database, schema }: Ledger,
  counts: readonly RejectedCount[],
  samples: readonly RejectedRequest[],
): Promise<void> {
  const written = database.transaction(
    async (_tx, sql) => {
      if (samples.length > 0) await lockRejections(sql, schema);
      await insertRejections(sql, schema, counts, samples);
    },
    {
      statementTimeoutMs: writeTimeoutMs,
      lockTimeoutMs: writeTimeoutMs,
      idleTimeoutMs: writeTimeoutMs,
      signal: AbortSignal.timeout(writeTimeoutMs),
    },
  );
  // Waiting for a connection heeds no signal.
  await within(writeTimeoutMs, written, () => new Error('PostgreSQL did not answer in time'));
}
