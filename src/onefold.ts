import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Catalogue, createCatalogue } from './effects/catalogue.js';
import type { Effect, RegisteredTx } from './effects/effect.js';
import { OnefoldError } from './errors.js';
import type { Database } from './ledger/database.js';
import type { Ledger } from './ledger/ledger.js';
import { pgDatabase } from './ledger/pg-database.js';
import { defaultSchema, schemaName } from './ledger/schema-name.js';
import { type OperationsContext, operationsContext, withLedger } from './operations/context.js';
import { type ReplayOptions, type ReplayOutcome, replayEvent } from './operations/replay-event.js';
import {
  type ResolveOptions,
  type ResolveOutcome,
  readResolveOptions,
  resolveEffect,
} from './operations/resolve-effect.js';
import { createReceiver, type Receiver } from './receiver/create-receiver.js';
import { readEnvironment } from './runtime/environment.js';
import { createLogger, type Logger } from './runtime/logger.js';
import { createMetrics, type Metrics } from './runtime/metrics.js';
import { refuseUnknownOptions } from './runtime/options.js';
import {
  checkTemporalSettings,
  connectClient,
  type TemporalClient,
  type TemporalSettings,
} from './runtime/temporal.js';
import type { Source } from './sources/define-source.js';
import { connectionsOf, createWorker, type OnefoldWorker, type WorkerOptions } from './worker/create-worker.js';
import { defaultTaskQueue } from './workflows/contract.js';

/** What {@link createOnefold} takes. Whatever is left out comes from the environment. */
export interface OnefoldOptions {
  readonly sources: readonly Source<any, any>[];
  readonly effects: readonly Effect[];
  /** Default: `pg` on `DATABASE_URL`. Effects write to it, so the ledger has to lie in it. */
  readonly database?: Database<RegisteredTx>;
  /** The ledger's schema. Default: `ONEFOLD_SCHEMA`, else 'onefold'. */
  readonly schema?: string;
  /** Default: `ONEFOLD_TASK_QUEUE`, else 'onefold'. One per application on a shared namespace. */
  readonly taskQueue?: string;
  /** Default: Temporal's own `TEMPORAL_*` variables and profiles. */
  readonly temporal?: TemporalSettings;
  /** A pino logger. Default: JSON lines on standard output, level `ONEFOLD_LOG_LEVEL`. */
  readonly logger?: Logger;
}

/**
 * A router for `app.use` of Express 4 or 5. Written out, so that users need neither Express's types nor the same version
 * of them.
 */
export type ReceiverRouter = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Sources and effects, ready to receive, to work and to operate. Opens nothing until used. */
export interface Onefold {
  /** An Express router that answers `POST /<source>`: `app.use('/webhooks', onefold.receiver)`. */
  readonly receiver: ReceiverRouter;
  readonly catalogue: Catalogue;
  readonly metrics: Metrics;
  /** Answers a web-standard request; the last segment of its path names the source. */
  fetch(request: Request): Promise<Response>;
  /** Makes a worker; `run()` it. */
  worker(options?: WorkerOptions): OnefoldWorker;
  /**
   * Runs a dead-lettered, abandoned, terminated or cancelled event again; effects that are done stay done.
   *
   * @param event `source/event-id`, as the provider spells it.
   * @throws {OnefoldError} `event_unknown`, `replay_refused`, `identity_invalid`.
   */
  replay(event: string, options: ReplayOptions): Promise<ReplayOutcome>;
  /**
   * Says what became of an effect whose outcome nobody but a person can tell, and lets the events that wait for it go on.
   *
   * @param effect Its name, or a former one.
   * @throws {OnefoldError} `claim_unknown`, `resolve_refused`, `result_not_json`, `result_too_large`.
   */
  resolve(effect: string, businessKey: string, options: ResolveOptions): Promise<ResolveOutcome>;
  /** Refuses new requests with 503 and resolves when those under way are answered and their evidence is written. */
  drain(): Promise<void>;
  /** Drains, and closes every connection that was opened here. */
  close(): Promise<void>;
  /** What operations and the executable stand on. */
  readonly [operationsContext]: OperationsContext;
}

const known: readonly (keyof OnefoldOptions)[] = [
  'sources',
  'effects',
  'database',
  'schema',
  'taskQueue',
  'temporal',
  'logger',
];

/**
 * Joins sources and effects to one application.
 *
 * @throws {OnefoldError} `config_invalid` at once for what is wrong in the declaration itself; `config_missing` and the
 * like only when the part that needs the setting is used.
 */
export function createOnefold(options: OnefoldOptions): Onefold {
  refuseUnknownOptions(options, known, 'createOnefold');
  const catalogue = createCatalogue(options.sources, options.effects);
  if (options.temporal) checkTemporalSettings(options.temporal, 'createOnefold.temporal');
  if (options.schema !== undefined) schemaName(options.schema);
  const metrics = createMetrics();
  const environment = once(() => readEnvironment());
  const log = once(() => {
    const level = environment().logLevel;
    return options.logger ?? createLogger(level === undefined ? {} : { level });
  });
  const temporal = once((): TemporalClient => connectClient(options.temporal));
  const openLedger = (connections: number): Ledger<RegisteredTx> => {
    const schema = schemaName(options.schema ?? environment().schema ?? defaultSchema);
    return { schema, database: options.database ?? ownDatabase(environment().databaseUrl, log(), connections) };
  };
  const ledger = once(() => openLedger(receiverConnections));
  const workerLedgers: OnceMade<Ledger<RegisteredTx>>[] = [];
  const receiver = once(
    (): Receiver => createReceiver({ ...context, sources: catalogue.sources, effects: catalogue.effects }),
  );

  // Getters, so that each part is opened by whoever needs it first, and by nobody else.
  const context: OperationsContext = {
    catalogue,
    metrics,
    temporal: options.temporal ?? {},
    get taskQueue() {
      return options.taskQueue ?? environment().taskQueue ?? defaultTaskQueue;
    },
    get client() {
      return temporal().client;
    },
    get namespace() {
      return temporal().namespace;
    },
    get ledger() {
      return ledger();
    },
    get log() {
      return log();
    },
  };

  return {
    catalogue,
    metrics,
    [operationsContext]: context,
    get receiver() {
      // Express calls it with its own request, which the router needs; to TypeScript that is another function.
      return receiver().express as unknown as ReceiverRouter;
    },
    fetch: (request) => receiver().fetch(request),
    worker(workerOptions) {
      // A pool of its own, so that a worker with much to do takes no connection from the receiver beside it.
      const own = once(() => openLedger(connectionsOf(workerOptions)));
      workerLedgers.push(own);
      return createWorker(withLedger(context, own), workerOptions);
    },
    replay: (event, replayOptions) => replayEvent(context, event, replayOptions),
    async resolve(effect, businessKey, resolveOptions) {
      const [tenant, verdict, act] = readResolveOptions(resolveOptions);
      return resolveEffect(context, { effect, businessKey, ...tenant }, verdict, act);
    },
    async drain() {
      if (receiver.made()) await receiver().drain();
    },
    async close() {
      if (receiver.made()) await receiver().close();
      if (temporal.made()) await temporal().close();
      if (options.database) return;
      for (const one of [ledger, ...workerLedgers]) if (one.made()) await one().database.close();
    },
  };
}

/** Of a receiver and of the operations: evidence goes out in batches, and only large bodies are written one by one. */
const receiverConnections = 10;

function ownDatabase(connectionString: string | undefined, log: Logger, connections: number): Database<RegisteredTx> {
  if (connectionString === undefined) {
    throw new OnefoldError(
      'config_missing',
      'DATABASE_URL is not set: the ledger needs PostgreSQL, such as postgres://user:password@host:5432/name (or give createOnefold a database)',
    );
  }
  return pgDatabase({
    connectionString,
    max: connections,
    onIdleError: (error) => log.warn({ reason: error.message, code: 'ledger_unavailable' }, 'ledger.connection_lost'),
    // Where another transaction type is registered, createOnefold's type demands a database of that type.
  }) as Database<RegisteredTx>;
}

type OnceMade<Value> = (() => Value) & { made(): boolean };

/** Makes a value on first use and keeps it. */
function once<Value>(make: () => Value): OnceMade<Value> {
  let kept: { readonly value: Value } | undefined;
  return Object.assign(
    () => {
      kept ??= { value: make() };
      return kept.value;
    },
    { made: () => kept !== undefined },
  );
}
