import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Catalogue, createCatalogue } from './effects/catalogue.js';
import type { Effect, RegisteredTx } from './effects/effect.js';
import { OnefoldError } from './errors.js';
import type { Database } from './ledger/database.js';
import type { Ledger } from './ledger/ledger.js';
import { pgDatabase } from './ledger/pg-database.js';
import { defaultSchema, schemaName } from './ledger/schema-name.js';
import { type AbandonEventOptions, type AbandonEventOutcome, abandonEvent } from './operations/abandon-event.js';
import type { AdoptOutcome } from './operations/adopt/adopt.js';
import { adopt } from './operations/adopt/adopt.js';
import type { AdoptOptions } from './operations/adopt/adopt-options.js';
import { operationsContext, type PublishingContext, withLedger } from './operations/context.js';
import { type DeliveriesApi, tenantDeliveries } from './operations/deliveries/tenant-deliveries.js';
import { type EndpointsApi, tenantEndpoints } from './operations/endpoints/tenant-endpoints.js';
import { type IngestOptions, type IngestOutcome, ingestEvent } from './operations/ingest-event.js';
import { type ListedPause, listPaused } from './operations/pauses/list-paused.js';
import { type PauseOptions, type PauseOutcome, pause } from './operations/pauses/pause.js';
import type { PausableName } from './operations/pauses/read-pausable.js';
import { type ResumeOptions, type ResumeOutcome, resume } from './operations/pauses/resume.js';
import { type ReplayOptions, type ReplayOutcome, replayEvent } from './operations/replay-event.js';
import { type CancelReplayOutcome, cancelReplay } from './operations/replay-many/cancel-replay.js';
import {
  type PreviewReplayOptions,
  previewReplay,
  type ReplayPreview,
} from './operations/replay-many/preview-replay.js';
import type { ReplayFilter } from './operations/replay-many/replay-filter.js';
import {
  type NothingToReplay,
  type ReplayManyOptions,
  type ReplayManyOutcome,
  replayMany,
} from './operations/replay-many/replay-many.js';
import {
  type ResolveOptions,
  type ResolveOutcome,
  readResolveOptions,
  resolveEffect,
} from './operations/resolve-effect.js';
import { type RetryManyNowOptions, type RetryManyNowOutcome, retryManyNow } from './operations/retry-many-now.js';
import { type RetryNowOptions, type RetryNowOutcome, retryNow } from './operations/retry-now.js';
import type { Trace, TraceOptions } from './operations/trace/trace.js';
import { traceIdentity } from './operations/trace/trace-identity.js';
import type { IngestPayload } from './operations/unsigned-delivery.js';
import type { PublicationOf, Published } from './publisher/publication.js';
import type { Publications } from './publisher/publications.js';
import { type PublishDependencies, publish, publishIn } from './publisher/publish.js';
import { type PublishManyOptions, type PublishProgress, publishMany } from './publisher/publish-many.js';
import { createRelay, type Relay } from './publisher/relay.js';
import { createReceiver, type Receiver } from './receiver/create-receiver.js';
import { egressRules } from './runtime/egress-rules.js';
import { readEnvironment } from './runtime/environment.js';
import { createLogger, type Logger } from './runtime/logger.js';
import { createMetrics, type Metrics } from './runtime/metrics.js';
import { refuseUnknownOptions } from './runtime/options.js';
import { createSealer } from './runtime/seal.js';
import {
  checkTemporalSettings,
  connectClient,
  type TemporalClient,
  type TemporalSettings,
} from './runtime/temporal.js';
import type { Source } from './sources/define-source.js';
import type { EventSchemas } from './sources/source.js';
import {
  connectionsOf,
  createWorker,
  type OnefoldWorker,
  publishingConnections,
  publishingLockMs,
  type WorkerOptions,
  type WorkerPublishing,
} from './worker/create-worker.js';
import { defaultTaskQueue } from './workflows/contract.js';

/** What {@link createOnefold} takes. Whatever is left out comes from the environment. */
export interface OnefoldOptions<Events extends EventSchemas = EventSchemas> {
  /** What it receives. Default: nothing, for an application that only publishes. */
  readonly sources?: readonly Source<any, any>[];
  readonly effects?: readonly Effect[];
  /** What the application publishes; made by `publications`. */
  readonly publications?: Publications<Events>;
  /** How outbound calls are restricted. */
  readonly egress?: EgressOptions;
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

/** Restrictions of outbound calls. */
export interface EgressOptions {
  /**
   * Host names, addresses and ranges that may be sent to although they are not public, and over http too; by endpoints that
   * belong to no tenant. Default: `ONEFOLD_EGRESS_ALLOW`, else none.
   */
  readonly allow?: readonly string[];
  /**
   * Whether the endpoints of tenants may be there too. Only where no tenant's owner chooses its URLs: they would reach your
   * own network. Default: `ONEFOLD_EGRESS_ALLOW_TENANTS`, else no.
   */
  readonly tenants?: boolean;
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

/** What one tenant has. */
export interface Tenant extends DeliveriesApi {
  readonly endpoints: EndpointsApi;
}

/** Sources and effects, ready to receive, to work and to operate. Opens nothing until used. */
export interface Onefold<Events extends EventSchemas = any> {
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
   * Replays every event that a filter takes in, at a bounded rate. The set is frozen first; broken off, the same `id` goes on
   * with it, and each event is asked for once.
   *
   * @throws {OnefoldError} `filter_missing`, `request_invalid`, `replay_set_too_large`, `effect_unknown`, `replay_refused`.
   */
  replayMany(filter: ReplayFilter, options: ReplayManyOptions): Promise<ReplayManyOutcome | NothingToReplay>;
  /** What {@link replayMany} would be about and would do; changes nothing. */
  previewReplay(filter: ReplayFilter, options?: PreviewReplayOptions): Promise<ReplayPreview>;
  /**
   * Ends a replay of many: what has not been asked for is not replayed.
   *
   * @throws {OnefoldError} `replay_set_unknown`, `replay_refused`.
   */
  cancelReplay(
    set: { readonly tenant?: string; readonly id: string },
    options: { readonly by: string; readonly reason: string },
  ): Promise<CancelReplayOutcome>;
  /**
   * Takes an event that its provider has given up on, handed in by a person: under the identity that a redelivery would have,
   * by the same path, marked as unsigned. Needs no secret.
   *
   * @param source Name of the source that reads it.
   * @param payload The body as the provider sent it, if it is to be had: of a known event another spelling is another body.
   * @throws {OnefoldError} `ingest_refused`, `unknown_source`, `config_invalid`; `identity_missing`, `identity_invalid`,
   * `type_missing`, `body_malformed`, `body_too_deep`, `body_too_large`, `body_differs`; `temporal_unavailable`,
   * `start_refused`, `ledger_unavailable`, `migration_missing`.
   */
  ingest(source: string, payload: IngestPayload, options: IngestOptions): Promise<IngestOutcome>;
  /**
   * Brings in what an earlier system has done for an effect, from its claim table, so that redeliveries are no first runs.
   *
   * @throws {OnefoldError} `adopt_refused`, `effect_unknown`, `identity_invalid`, `config_invalid`, `ledger_unavailable`,
   * `migration_missing`.
   */
  adopt(options: AdoptOptions): Promise<AdoptOutcome>;
  /**
   * Tells everything that is known of an event, a business key or a publication, as one timeline from Temporal and the
   * ledger; or the choices, where the name may mean several things. Changes nothing, and waits for Temporal two seconds at most.
   *
   * @param identity One of the three identities, or part of one.
   * @throws {OnefoldError} `identity_unknown`, `identity_invalid`, `request_invalid`, `ledger_unavailable`.
   */
  trace(identity: string, options?: TraceOptions): Promise<Trace>;
  /**
   * Ends the pause of a running event between two attempts, which it spends as it would have later.
   *
   * @throws {OnefoldError} `event_unknown`, `retry_refused`, `identity_invalid`.
   */
  retryNow(event: string, options: RetryNowOptions): Promise<RetryNowOutcome>;
  /**
   * The same for every open event that has an effect before it, or for every one of a source.
   *
   * @throws {OnefoldError} `pause_refused` for an unknown name, `retry_refused`, `identity_invalid`.
   */
  retryManyNow(of: PausableName, options: RetryManyNowOptions): Promise<RetryManyNowOutcome>;
  /**
   * Gives an event up: redeliveries run nothing, and only a replay takes it up again. What is done of it stays done.
   *
   * @throws {OnefoldError} `event_unknown`, `abandon_refused`, `payload_missing`, `identity_invalid`.
   */
  abandon(event: string, options: AbandonEventOptions): Promise<AbandonEventOutcome>;
  /**
   * Pauses an effect, or every effect of a source, for one tenant or for all: from then on no attempt begins, and what waits
   * spends nothing of its budget. Endpoints are paused by {@link Onefold.endpoints}.
   *
   * @throws {OnefoldError} `pause_refused`, `identity_invalid`.
   */
  pause(what: PausableName, options: PauseOptions): Promise<PauseOutcome>;
  /**
   * Ends such a pause, and tells every event that waits for it to look now.
   *
   * @throws {OnefoldError} `pause_refused`, `identity_invalid`.
   */
  resume(what: PausableName, options: ResumeOptions): Promise<ResumeOutcome>;
  /** The effects and sources that are paused, the oldest pause first. */
  paused(): Promise<readonly ListedPause[]>;
  /**
   * Says what became of an effect whose outcome nobody but a person can tell, and lets the events that wait for it go on.
   *
   * @param effect Its name, or a former one.
   * @throws {OnefoldError} `claim_unknown`, `resolve_refused`, `result_not_json`, `result_too_large`.
   */
  resolve(effect: string, businessKey: string, options: ResolveOptions): Promise<ResolveOutcome>;
  /**
   * Publishes a message: writes it, with a delivery for each endpoint that subscribes to its type, in one transaction. A
   * relay then starts the deliveries. Publishing the same again changes nothing, and answers how the first stands.
   *
   * Inside an effect the ledger notes which one caused it. The tenant is the one that the message names, else '', there too:
   * only the declaration's own `publish` and `publishIn` take the event's.
   *
   * @throws {OnefoldError} `publication_conflict`, `publication_invalid`, `publication_type_unknown`,
   * `publication_too_large`, `data_invalid`, `identity_invalid`; `ledger_unavailable`, after which it may be published or
   * not, so repeat it.
   */
  publish(publication: PublicationOf<Events>): Promise<Published>;
  /**
   * The same inside a transaction of yours: the message goes out if that commits, and leaves nothing where it does not.
   *
   * @param tx Whatever the `database` takes for one: with `pg`, a client on which you began a transaction, or the `tx` of
   * an effect.
   * @throws {OnefoldError} As {@link publish}.
   * @throws PostgreSQL's 40001 in a REPEATABLE READ or SERIALIZABLE transaction, where another one published the same
   * meanwhile: try your whole transaction again.
   */
  publishIn(tx: RegisteredTx, publication: PublicationOf<Events>): Promise<Published>;
  /**
   * Publishes a list or a stream of messages, some hundred in each statement, in bounded memory. Broken off, it is simply
   * repeated.
   *
   * @throws {OnefoldError} `config_invalid`; what {@link publish} throws, for the first refused one, unless `onRefused`
   * takes it.
   */
  publishMany(
    publications: Iterable<PublicationOf<Events>> | AsyncIterable<PublicationOf<Events>>,
    options?: PublishManyOptions,
  ): Promise<PublishProgress>;
  /**
   * Makes a relay, which starts the deliveries of what was published; `run()` it. Workers run one already: this is for a
   * process of its own.
   */
  relay(): Relay;
  /** The endpoints that belong to no tenant, such as the application's own. */
  readonly endpoints: EndpointsApi;
  /**
   * What one tenant has: its endpoints and deliveries. Every statement names the tenant, so that customers' own endpoints
   * can be offered through it.
   *
   * @param name '' for what belongs to no tenant.
   * @throws {OnefoldError} `identity_invalid` for a tenant that is none.
   */
  tenant(name: string): Tenant;
  /** Refuses new requests with 503 and resolves when those under way are answered and their evidence is written. */
  drain(): Promise<void>;
  /** Drains, and closes every connection that was opened here. */
  close(): Promise<void>;
  /** What operations and the executable stand on. */
  readonly [operationsContext]: PublishingContext;
}

const known: readonly (keyof OnefoldOptions)[] = [
  'sources',
  'effects',
  'publications',
  'egress',
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
export function createOnefold<const Events extends EventSchemas = Record<never, never>>(
  options: OnefoldOptions<Events>,
): Onefold<Events> {
  refuseUnknownOptions(options, known, 'createOnefold');
  const catalogue = createCatalogue(options.sources ?? [], options.effects ?? []);
  if (options.temporal) checkTemporalSettings(options.temporal, 'createOnefold.temporal');
  if (options.schema !== undefined) schemaName(options.schema);
  if (options.egress) {
    const { allow = [], tenants } = options.egress;
    refuseUnknownOptions(options.egress, ['allow', 'tenants'], 'createOnefold.egress');
    egressRules(allow, 'createOnefold.egress.allow');
    if (tenants !== undefined && typeof tenants !== 'boolean') {
      throw new OnefoldError('config_invalid', 'createOnefold.egress.tenants: expected true or false');
    }
  }
  const { publications } = options;
  const publishes = publications !== undefined;
  const metrics = createMetrics();
  const environment = once(() => readEnvironment());
  const log = once(() => {
    const level = environment().logLevel;
    return options.logger ?? createLogger(level === undefined ? {} : { level });
  });
  const temporal = once((): TemporalClient => connectClient(options.temporal));
  const openLedger = (connections: number, lockTimeoutMs?: number): Ledger<RegisteredTx> => {
    const schema = schemaName(options.schema ?? environment().schema ?? defaultSchema);
    const { databaseUrl } = environment();
    return { schema, database: options.database ?? ownDatabase(databaseUrl, log(), connections, lockTimeoutMs) };
  };
  const ledger = once(() => openLedger(receiverConnections));
  const workerLedgers: OnceMade<Ledger<RegisteredTx>>[] = [];
  const receiver = once(
    (): Receiver => createReceiver({ ...context, sources: catalogue.sources, effects: catalogue.effects }),
  );

  const sealer = once(() => createSealer(environment().secretsKeys));
  const rules = once(() => {
    const { allow, tenants = environment().egressAllowTenants } = options.egress ?? {};
    return allow
      ? egressRules(allow, 'createOnefold.egress.allow', tenants)
      : egressRules(environment().egressAllow ?? [], 'ONEFOLD_EGRESS_ALLOW', tenants);
  });

  // Getters, so that each part is opened by whoever needs it first, and by nobody else.
  const context: PublishingContext = {
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
    publications,
    get sealer() {
      return sealer();
    },
    get egressRules() {
      return rules();
    },
  };
  const publishing = (): PublishDependencies => {
    if (!publications) {
      throw new OnefoldError('config_invalid', 'createOnefold has no publications: declare what is published there');
    }
    return { ledger: ledger(), publications, metrics };
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
      const ofDeliveries = once(() => openLedger(publishingConnections, publishingLockMs));
      workerLedgers.push(own, ofDeliveries);
      const deps = withLedger(context, own);
      return createWorker(publishes ? withPublishing(deps, ofDeliveries) : deps, workerOptions);
    },
    publish: async (publication) => publish(publishing(), publication),
    publishIn: async (tx, publication) => publishIn(publishing(), tx, publication),
    publishMany: async (publishedOnes, manyOptions = {}) => publishMany(publishing(), publishedOnes, manyOptions),
    replay: (event, replayOptions) => replayEvent(context, event, replayOptions),
    replayMany: (filter, manyOptions) => replayMany(context, filter, manyOptions),
    previewReplay: (filter, previewOptions = {}) => previewReplay(context, filter, previewOptions),
    cancelReplay: (set, cancelOptions) => cancelReplay(context, set, cancelOptions),
    ingest: (source, payload, ingestOptions) => ingestEvent(context, source, payload, ingestOptions),
    adopt: (adoptOptions) => adopt(context, adoptOptions),
    trace: (identity, traceOptions = {}) => traceIdentity(context, identity, traceOptions),
    retryNow: (event, retryOptions) => retryNow(context, event, retryOptions),
    retryManyNow: (of, retryOptions) => retryManyNow(context, of, retryOptions),
    abandon: (event, abandonOptions) => abandonEvent(context, event, abandonOptions),
    pause: (what, pauseOptions) => pause(context, what, pauseOptions),
    resume: (what, resumeOptions) => resume(context, what, resumeOptions),
    paused: () => listPaused(context),
    async resolve(effect, businessKey, resolveOptions) {
      const [tenant, verdict, act] = readResolveOptions(resolveOptions);
      return resolveEffect(context, { effect, businessKey, ...tenant }, verdict, act);
    },
    relay: () => {
      const { client, namespace, taskQueue } = context;
      return createRelay({ ledger: ledger(), client, namespace, taskQueue, log: log(), metrics });
    },
    get endpoints() {
      return tenantEndpoints(context, '');
    },
    tenant: (name) => ({ endpoints: tenantEndpoints(context, name), ...tenantDeliveries(context, name) }),
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

/** What a worker of an application that publishes needs beside the rest; its keys are read when it sends. */
function withPublishing(
  context: PublishingContext,
  ledger: () => Ledger<RegisteredTx>,
): PublishingContext & { readonly publishing: WorkerPublishing } {
  return Object.create(context, {
    publishing: { get: () => ({ ledger: ledger(), sealer: context.sealer, egressRules: context.egressRules }) },
  });
}

/** Of a receiver and of the operations: evidence goes out in batches, and only large bodies are written one by one. */
const receiverConnections = 10;

function ownDatabase(
  connectionString: string | undefined,
  log: Logger,
  connections: number,
  lockTimeoutMs: number | undefined,
): Database<RegisteredTx> {
  if (connectionString === undefined) {
    throw new OnefoldError(
      'config_missing',
      'DATABASE_URL is not set: the ledger needs PostgreSQL, such as postgres://user:password@host:5432/name (or give createOnefold a database)',
    );
  }
  return pgDatabase({
    connectionString,
    max: connections,
    ...(lockTimeoutMs === undefined ? {} : { lockTimeoutMs }),
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
