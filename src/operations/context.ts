import type { Client } from '@temporalio/client';
import type { Catalogue } from '../effects/catalogue.js';
import type { RegisteredTx } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import type { PublicationCatalogue } from '../publisher/publication.js';
import type { EgressRules } from '../runtime/egress-rules.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import type { Sealer } from '../runtime/seal.js';
import type { TemporalSettings } from '../runtime/temporal.js';

/** Under this key an application carries its context; the same key in every copy of the package. */
export const operationsContext: unique symbol = Symbol.for('onefold.operations-context');

/** What operations stand on; each part is opened on first use. */
export interface OperationsContext {
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly namespace: string;
  readonly temporal: TemporalSettings;
  readonly taskQueue: string;
  readonly ledger: Ledger<RegisteredTx>;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The same with what publishing stands on. */
export interface PublishingContext extends OperationsContext {
  /** The catalogue of what is published; undefined where nothing is. */
  readonly publications: PublicationCatalogue | undefined;
  /** Seals and opens what endpoints keep secret; needs its keys only when used. */
  readonly sealer: Sealer;
  /** Where outbound calls may go. */
  readonly egressRules: EgressRules;
}

/** The same context with another ledger, opened on first use like its other parts. */
export function withLedger<Context extends OperationsContext>(
  context: Context,
  ledger: () => Ledger<RegisteredTx>,
): Context {
  return Object.create(context, { ledger: { get: ledger } }) as Context;
}

/** The same context with another log; its other parts are still opened on first use only. */
export function withLog<Context extends OperationsContext>(context: Context, log: Logger): Context {
  return Object.create(context, { log: { value: log } }) as Context;
}
