import type { Client } from '@temporalio/client';
import type { Effect } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import type { RegisteredAttributes } from '../runtime/registered-attributes.js';
import type { Source } from '../sources/define-source.js';
import type { BacklogWatch } from './backlog-watch.js';
import type { TokenBucket } from './token-bucket.js';

/** What a delivery needs from its event key on, however it came. */
export interface AcceptDependencies {
  readonly effects: readonly Effect[];
  readonly client: Client;
  readonly taskQueue: string;
  readonly ledger: Ledger;
  readonly log: Logger;
  readonly attributes: RegisteredAttributes;
  readonly backlog: Pick<BacklogWatch, 'oldestMs'>;
  /** Bounds the requests that wait for an outcome; a taken place is given back. */
  readonly waitingPlaces: { take(): boolean; giveBack(): void };
}

/** What the steps of receiving a delivery need. */
export interface ReceiveDependencies extends AcceptDependencies {
  readonly sources: ReadonlyMap<string, Source>;
  readonly metrics: Metrics;
  /** One bucket per source that has a rate limit, by its name. */
  readonly buckets: ReadonlyMap<string, TokenBucket>;
  readonly isDraining: () => boolean;
}
