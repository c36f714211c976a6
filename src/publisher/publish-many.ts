import { setTimeout as sleep } from 'node:timers/promises';
import { classifyFailure } from '../effects/classify-failure.js';
import { OnefoldError } from '../errors.js';
import type { NewPublication } from '../ledger/publications/insert-publications.js';
import { recordPublications } from '../ledger/publications/record-publication.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { buildPublication } from './build-publication.js';
import type { PublicationFields, Published } from './publication.js';
import { counted, originOf, type PublishDependencies, publishedAs } from './publish.js';
import { takeFrom } from './take-from.js';

/** How far it has come. */
export interface PublishProgress {
  /** Messages taken from the list and settled: the sum of the next three. */
  readonly settled: number;
  readonly published: number;
  /** Published before, with the same content. */
  readonly alreadyPublished: number;
  /** In conflict with what was published before, or not fit to be published. */
  readonly refused: number;
  /** Deliveries queued for what was published. */
  readonly deliveries: number;
}

/** A message that was not published, and why. */
export interface RefusedPublication {
  /** In the list, from 0. */
  readonly index: number;
  readonly publication: PublicationFields;
  readonly error: OnefoldError;
}

/** Options of {@link publishMany}. */
export interface PublishManyOptions {
  /** Statements at once, 1 to 16; each has a connection. Default 2. */
  readonly concurrency?: number;
  /** Called after each statement. */
  readonly onProgress?: (progress: PublishProgress) => void;
  /** Called for each message that was published or found published, in no particular order. */
  readonly onPublished?: (published: Published) => void;
  /**
   * Called for each message that is refused; the others go on. Without it the first one ends the whole with its error.
   */
  readonly onRefused?: (refused: RefusedPublication) => void;
  /** Stops between two statements, and while a stream gives nothing; the stream is then closed. */
  readonly signal?: AbortSignal;
}

/** Messages of one statement: few enough that it takes no row for long, and enough that the round trip costs little. */
export const publishBatch = 100;

/** Of the bodies of one statement; with it and the concurrency, memory is bounded whatever the list holds. */
const batchBytes = 4 * 1024 * 1024;

const concurrencyLimit = 16;

/** Pauses before the further tries of a statement that found no PostgreSQL, ms; after them the whole ends. */
const retryPausesMs = [200, 1_000, 3_000, 5_000, 10_000];

/** A message of a slow stream waits no longer than this for others to share its statement, ms. */
const flushAfterMs = 100;

interface Batch {
  readonly entries: {
    readonly index: number;
    readonly publication: PublicationFields;
    readonly built: NewPublication;
  }[];
  readonly keys: Set<string>;
  bytes: number;
  /** When its first message came, by the monotonic clock. */
  since: number;
}

/**
 * Publishes a list of messages, or a stream of them, some hundred in each statement, or what came within a tenth of a second.
 * The list is read no faster than it is written, so that memory stays bounded. Identities are stable, so a run that was broken off is simply repeated: what it
 * published already is found so.
 *
 * @throws {OnefoldError} `config_invalid` for a wrong option; `ledger_unavailable` when PostgreSQL stays away; without
 * `onRefused`, what `publish` throws. The signal's reason when aborted. What was published until then stays published.
 */
export async function publishMany(
  deps: PublishDependencies,
  publications: Iterable<PublicationFields> | AsyncIterable<PublicationFields>,
  options: PublishManyOptions = {},
): Promise<PublishProgress> {
  refuseUnknownOptions(options, ['concurrency', 'onProgress', 'onPublished', 'onRefused', 'signal'], 'publishMany');
  const { concurrency = 2, signal } = options;
  if (!(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= concurrencyLimit)) {
    throw new OnefoldError(
      'config_invalid',
      `publishMany.concurrency: expected a whole number from 1 to ${concurrencyLimit}, got ${concurrency}`,
    );
  }
  const progress = { settled: 0, published: 0, alreadyPublished: 0, refused: 0, deliveries: 0 };
  const origin = originOf();
  const taking = takeFrom(publications);
  const writing = new Set<Promise<void>>();
  const underWay = new Set<string>();
  let failure: { readonly error: unknown } | undefined;

  const refuse = (index: number, publication: PublicationFields, error: unknown): void => {
    if (!(error instanceof OnefoldError) || !options.onRefused) throw error;
    progress.settled += 1;
    progress.refused += 1;
    options.onRefused({ index, publication, error });
  };

  const write = async ({ entries }: Batch): Promise<void> => {
    const { database, schema } = deps.ledger;
    // In one order, so that two lists side by side wait for each other instead of deadlocking.
    entries.sort((one, other) => (keyOf(one.built) < keyOf(other.built) ? -1 : 1));
    const rows = entries.map(({ built }) => built);
    const records = await insist(() => recordPublications(database.query, schema, rows), signal);
    for (const [nth, record] of records.entries()) {
      const { index, publication, built } = entries[nth] as Batch['entries'][number];
      let published: Published;
      try {
        published = counted(deps, publishedAs(built, record));
      } catch (error) {
        refuse(index, publication, error);
        continue;
      }
      progress.settled += 1;
      if (published.path === 'published') {
        progress.published += 1;
        progress.deliveries += published.deliveries.length;
      } else {
        progress.alreadyPublished += 1;
      }
      options.onPublished?.(published);
    }
    options.onProgress?.({ ...progress });
  };

  const flush = async (batch: Batch): Promise<void> => {
    if (batch.entries.length === 0) return;
    const written = write(batch)
      .catch((error: unknown) => {
        failure ??= { error };
        taking.wake();
      })
      .finally(() => {
        writing.delete(written);
        for (const key of batch.keys) underWay.delete(key);
      });
    writing.add(written);
    for (const key of batch.keys) underWay.add(key);
    if (writing.size >= concurrency) await Promise.race(writing);
  };

  const goOn = (): void => {
    signal?.throwIfAborted();
    if (failure) throw failure.error;
  };

  let batch = emptyBatch();
  let index = -1;
  const onAbort = (): void => taking.wake();
  signal?.addEventListener('abort', onAbort);
  try {
    for (;;) {
      // What is not seen here wakes the wait that follows.
      goOn();
      const patience = batch.entries.length === 0 ? Infinity : batch.since + flushAfterMs - performance.now();
      const taken = await taking.next(patience);
      goOn();
      if (taken === undefined) break;
      if (taken === 'late') {
        await flush(batch);
        batch = emptyBatch();
        continue;
      }
      const publication = taken.item;
      index += 1;
      let built: NewPublication;
      try {
        built = await buildPublication(deps.publications, publication, origin);
      } catch (error) {
        refuse(index, publication, error);
        continue;
      }
      const key = keyOf(built);
      const bytes = Buffer.byteLength(built.body);
      const full = batch.entries.length === publishBatch || batch.bytes + bytes > batchBytes;
      // The same publication twice belongs in two statements, one after the other: of two that differ the first counts.
      const twice = batch.keys.has(key) || underWay.has(key);
      if (full || twice) {
        await flush(batch);
        batch = emptyBatch();
      }
      if (twice) await Promise.all(writing);
      if (batch.entries.length === 0) batch.since = performance.now();
      batch.entries.push({ index, publication, built });
      batch.keys.add(key);
      batch.bytes += bytes;
    }
    await flush(batch);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    await Promise.all([taking.close(), ...writing]);
  }
  if (failure) throw failure.error;
  options.onProgress?.({ ...progress });
  return { ...progress };
}

function emptyBatch(): Batch {
  return { entries: [], keys: new Set(), bytes: 0, since: 0 };
}

function keyOf({ tenant, publication }: NewPublication): string {
  return JSON.stringify([tenant, publication]);
}

/** Repeats what may be repeated: the statement is safe to carry out twice. */
async function insist<Result>(write: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  for (const pauseMs of retryPausesMs) {
    try {
      return await write();
    } catch (error) {
      if (!mayPass(error)) throw error;
    }
    await sleep(pauseMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }
  return write();
}

/** No connection, a lost one, a server that goes or comes, a deadlock, a serialization failure. */
function mayPass(error: unknown): boolean {
  const { code } = classifyFailure(error, []);
  if (code === 'ledger_unavailable' || code === 'database_transient') return true;
  return ['ECONNRESET', 'EPIPE'].includes(String((error as { code?: unknown } | null)?.code));
}
