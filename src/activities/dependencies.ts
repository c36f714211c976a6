import type { Client } from '@temporalio/client';
import type { OnStep } from '../effects/attempt-steps.js';
import type { Catalogue } from '../effects/catalogue.js';
import type { RegisteredTx } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';

/** What the activities close over; the worker's main builds it once. */
export interface ActivityDependencies {
  readonly catalogue: Catalogue;
  readonly ledger: Ledger<RegisteredTx>;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Search attributes found registered at the worker's start. */
  readonly searchAttributes: readonly string[];
  /** For the sweeper, which reads visibility and histories. */
  readonly client: Client;
  /**
   * Aborts when the grace of a stopping worker is over. The SDK tells regular activities by itself; a local one it would
   * wait for, as long as it may take.
   */
  readonly graceOver: AbortSignal;
  /** Told of each step of an attempt at an external effect; for tests. */
  readonly onStep?: OnStep;
}
