import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { OnefoldError } from '../../errors.js';
import type { Sql } from '../../ledger/database.js';
import { measureQueued, type QueuedDelivery } from '../../ledger/publication-deliveries/measure-queued.js';
import { type DeliveryInFull, readDelivery } from '../../ledger/publication-deliveries/read-delivery.js';
import { relayWindow } from '../../publisher/relay-window.js';
import type { OperationsContext } from '../context.js';
import { describeExecution, isClosed } from '../describe-execution.js';
import type { NamedDelivery } from './read-delivery-name.js';

/** A delivery that nobody carries. */
export interface ClosedDelivery {
  readonly recorded: DeliveryInFull;
  /** Its latest run; undefined where Temporal has forgotten it. */
  readonly execution: WorkflowExecutionDescription | undefined;
}

/**
 * Between the record of its end and the end of its workflow lie a few milliseconds; a replay that comes in them waits
 * instead of being refused as running.
 */
const closeWaitMs = 10_000;
const lookEveryMs = 50;

/** What a relay that runs leaves queued for longer is not for want of a moment, ms. */
const aboutToMs = 60_000;

/**
 * Reads a delivery that can be sent again.
 *
 * @param sql Reads the ledger: inside a transaction that is held meanwhile, which takes no second connection then.
 * @throws {OnefoldError} `publication_unknown` where the tenant has no such delivery; `replay_refused` while it is under
 * way or waits for its first start, and where its endpoint was removed.
 */
export async function readClosedDelivery(
  context: OperationsContext,
  delivery: NamedDelivery,
  sql: Sql,
): Promise<ClosedDelivery> {
  const until = Date.now() + closeWaitMs;
  for (;;) {
    // The run first: what a closed one wrote into the ledger is there by then.
    const execution = await describeExecution(context.client, delivery.deliveryKey);
    const recorded = await readDelivery(sql, context.ledger.schema, delivery);
    if (!recorded) throw unknown(delivery);
    if (recorded.endpointState === 'removed') {
      throw new OnefoldError(
        'replay_refused',
        `the endpoint ${delivery.endpoint} was removed: nothing can be sent to it`,
      );
    }
    if (recorded.state === 'queued') {
      const why = whyQueued(await measureQueued(sql, context.ledger.schema, delivery, relayWindow));
      throw new OnefoldError('replay_refused', `${named(delivery)} was never started: ${why}`);
    }
    if (!execution || isClosed(execution)) return { recorded, execution };
    if (recorded.state === 'started' || Date.now() > until) {
      throw new OnefoldError(
        'replay_refused',
        `${named(delivery)} is under way: end its pause with onefold retry-now, or give it up with onefold deliveries abandon`,
      );
    }
    await sleep(lookEveryMs);
  }
}

/** A relay starts what is queued within moments, unless there is a reason. */
function whyQueued({ waitedMs, behind }: QueuedDelivery): string {
  if (waitedMs < aboutToMs) return 'a relay is about to do that';
  const waited = `it has waited for ${Math.floor(waitedMs / 60_000)} min`;
  if (behind) return `${waited}, since others to its endpoint are to be sent first`;
  return `${waited}, so no relay seems to run: start one (onefold worker, onefold relay), and it is sent`;
}

/** A delivery that the ledger does not have. */
export function unknown(delivery: NamedDelivery): OnefoldError {
  return new OnefoldError('publication_unknown', `the ledger has no delivery of ${named(delivery)} for this tenant`);
}

function named({ publication, endpoint }: NamedDelivery): string {
  return `${JSON.stringify(publication)} to ${endpoint}`;
}
