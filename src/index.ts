export type { Catalogue } from './effects/catalogue.js';
export { type EffectOptions, perEvent } from './effects/declare-effect.js';
export type { LocalEffectOptions } from './effects/define-effect.js';
export type { ExternalEffectOptions, PerformResult } from './effects/define-external-effect.js';
export type {
  CommitContext,
  Effect,
  EffectMode,
  ExternalCommitContext,
  ExternalEffect,
  JsonValue,
  LocalEffect,
  PerformContext,
  Register,
  RegisteredTx,
  Supersede,
} from './effects/effect.js';
export {
  NotDoneError,
  NotYetError,
  OutcomeUnknownError,
  PermanentError,
  type SettlingOptions,
} from './effects/errors.js';
export type { EventFrom, EventOf, ReceivedEvent } from './effects/event.js';
export { HttpError, type HttpResponse, httpFailure } from './effects/http-failure.js';
export { provesNothingDone } from './effects/proves-nothing-done.js';
export {
  type Ask,
  type ForwardsKey,
  type ForwardsKeyOptions,
  type ForwardsKeyThenReconcile,
  type ForwardsKeyThenReconcileOptions,
  forwardsKey,
  type Park,
  park,
  type Reconcile,
  type ReconcileContext,
  type Reconciled,
  type ReconcileOptions,
  type Recovery,
  reconcile,
} from './effects/recovery.js';
export type { RetryOptions } from './effects/retry-options.js';
export { type ErrorCode, errorCodes, OnefoldError } from './errors.js';
export type { Database, Sql, SqlResult, TransactionLimits } from './ledger/database.js';
export { type MigrateOptions, migrateLedger } from './ledger/migrate.js';
export { type PgDatabaseOptions, type PgTransaction, pgDatabase } from './ledger/pg-database.js';
export type { RecordedDelivery } from './ledger/publication-deliveries/delivery-row.js';
export type { PublicationDelivery } from './ledger/publications/read-publications.js';
export {
  createOnefold,
  type EgressOptions,
  type Onefold,
  type OnefoldOptions,
  type ReceiverRouter,
  type Tenant,
} from './onefold.js';
export type { AbandonEventOptions, AbandonEventOutcome } from './operations/abandon-event.js';
export type { AdoptOutcome, RowNotAdopted } from './operations/adopt/adopt.js';
export type { AdoptOptions, AdoptProgress } from './operations/adopt/adopt-options.js';
export type { DeliveryFilter } from './operations/deliveries/list-deliveries.js';
export type { DeliveryName } from './operations/deliveries/read-delivery-name.js';
export type { ReplayDeliveryOptions, ReplayDeliveryOutcome } from './operations/deliveries/replay-delivery.js';
export type { ShownDelivery } from './operations/deliveries/show-delivery.js';
export type { DeliveriesApi } from './operations/deliveries/tenant-deliveries.js';
export type { CreatedEndpoint } from './operations/endpoints/create-endpoint.js';
export type { EndpointAct } from './operations/endpoints/endpoints-dependencies.js';
export type { EndpointFilter, EndpointPage } from './operations/endpoints/list-endpoints.js';
export type { RotatedSecret, RotateOptions } from './operations/endpoints/rotate-secret.js';
export type { EndpointDetails } from './operations/endpoints/show-endpoint.js';
export type { EndpointsApi } from './operations/endpoints/tenant-endpoints.js';
export type { EndpointTest } from './operations/endpoints/test-endpoint.js';
export type { UpdatedEndpoint } from './operations/endpoints/update-endpoint.js';
export type { Subscriber } from './operations/endpoints/who-subscribes.js';
export type { IngestOptions, IngestOutcome } from './operations/ingest-event.js';
export type { Page } from './operations/page-cursor.js';
export type { ListedPause } from './operations/pauses/list-paused.js';
export type { PauseOptions, PauseOutcome } from './operations/pauses/pause.js';
export type { ShownPause } from './operations/pauses/pause-wish.js';
export type { PausableName } from './operations/pauses/read-pausable.js';
export type { ResumeOptions, ResumeOutcome } from './operations/pauses/resume.js';
export type { ReplayOptions, ReplayOutcome } from './operations/replay-event.js';
export type { CancelReplayOutcome } from './operations/replay-many/cancel-replay.js';
export type { PreviewReplayOptions, ReplayDecision, ReplayPreview } from './operations/replay-many/preview-replay.js';
export type { ReplayFilter } from './operations/replay-many/replay-filter.js';
export type { NothingToReplay, ReplayManyOptions, ReplayManyOutcome } from './operations/replay-many/replay-many.js';
export type { ReplayStep } from './operations/replay-steps.js';
export type {
  ResolveAct,
  ResolveOptions,
  ResolveOutcome,
  ResolveSeen,
  ResolveVerdict,
} from './operations/resolve-effect.js';
export type { RetryManyNowOptions, RetryManyNowOutcome } from './operations/retry-many-now.js';
export type { RetryNowOptions, RetryNowOutcome } from './operations/retry-now.js';
export type { ToldEvents, ToldOpenEvents } from './operations/tell-open-events.js';
export type { ToldEvent } from './operations/tell-waiting.js';
export type {
  Ambiguous,
  Trace,
  TraceChoice,
  Traced,
  TracedEffect,
  TracedEvent,
  TracedPublication,
  TraceEntry,
  TraceOptions,
  ValidAct,
} from './operations/trace/trace.js';
export type { IngestPayload, UnsignedEvent } from './operations/unsigned-delivery.js';
export type { Endpoint, EndpointState, EndpointStateCode } from './publisher/endpoint.js';
export type { EndpointChanges, EndpointSettings } from './publisher/endpoint-settings.js';
export type { PublicationFields, PublicationOf, Published } from './publisher/publication.js';
export {
  type PublicationRetryOptions,
  type Publications,
  type PublicationsOptions,
  publications,
} from './publisher/publications.js';
export type { PublishManyOptions, PublishProgress, RefusedPublication } from './publisher/publish-many.js';
export type { Relay } from './publisher/relay.js';
export { createLogger, type Logger } from './runtime/logger.js';
export type { TemporalSettings } from './runtime/temporal.js';
export { type CustomOptions, custom } from './sources/custom.js';
export type { CustomIdentity } from './sources/custom-identity.js';
export type { HmacVerification } from './sources/custom-verification.js';
export type { Source } from './sources/define-source.js';
export { type EnvSecrets, fromEnv } from './sources/from-env.js';
export { type GitHubOptions, github } from './sources/github.js';
export type { Secrets } from './sources/secrets.js';
export { type ShopifyOptions, shopify } from './sources/shopify.js';
export type { EventSchemas, SourceOptions } from './sources/source.js';
export { type StandardWebhooksOptions, standardWebhooks } from './sources/standard-webhooks.js';
export { type StripeOptions, stripe } from './sources/stripe.js';
export { types } from './sources/types.js';
export type { OnefoldWorker, WorkerOptions } from './worker/create-worker.js';
