import { WorkflowNotFoundError } from '@temporalio/client';
import { OnefoldError } from '../errors.js';
import type { DeliveryState } from '../ledger/publication-deliveries/delivery-row.js';
import { readDelivery } from '../ledger/publication-deliveries/read-delivery.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { type DeliveryStatus, deliveryHandlerNames } from '../workflows/delivery-contract.js';
import { askStatus } from './ask-status.js';
import type { OperationsContext } from './context.js';
import { unknown } from './deliveries/closed-delivery.js';
import { type DeliveryName, readDeliveryName } from './deliveries/read-delivery-name.js';
import { operationFailure } from './operation-failure.js';
import { type ActOptions, readActOptions } from './read-act-options.js';
import { carryOutRetry } from './retry-wish.js';

/** Who wants a delivery sent now, and why. */
export interface RetryDeliveryNowOptions extends ActOptions {
  /** Only say what was found. */
  readonly dryRun?: boolean;
}

/** What came of it. */
export interface RetryDeliveryNowOutcome {
  readonly tenant: string;
  readonly publication: string;
  readonly endpoint: string;
  readonly deliveryKey: string;
  /** Identity of the wish; its act is recorded under `<deliveryKey>#<id>`. */
  readonly id: string;
  /** `told`: its workflow was told. `told_before`: by the same wish, earlier. `dry_run`: nothing was done. */
  readonly outcome: 'told' | 'told_before' | 'dry_run';
  /** Where it stood before; undefined where no worker answered: the wish waits for one. */
  readonly found?: Pick<DeliveryStatus, 'phase' | 'attempts' | 'nextTryAt' | 'lastFailure'>;
}

const temporalWithinMs = 30_000;

/** What else is to be done about a delivery that is not under way. */
const instead: Readonly<Record<Exclude<DeliveryState, 'started'>, string>> = {
  queued: 'it has not been started: a relay sends it in its turn',
  delivered: 'it was delivered: onefold replay --publication --endpoint sends it again',
  dead_lettered: 'it is dead-lettered: onefold replay --publication sends it again',
  abandoned: 'it was abandoned: only onefold replay --publication sends it',
};

/**
 * Ends the pause of a delivery that is under way. A paused or disabled endpoint goes on holding it.
 *
 * @throws {OnefoldError} `publication_unknown`; `retry_refused` where it is not under way, with what to do instead, for the
 * id of another act, and without who or why; `config_invalid`, `identity_invalid`, `temporal_unavailable`,
 * `ledger_unavailable`, `migration_missing`.
 */
export async function retryDeliveryNow(
  context: OperationsContext,
  name: DeliveryName,
  options: RetryDeliveryNowOptions,
): Promise<RetryDeliveryNowOutcome> {
  refuseUnknownOptions(options, ['by', 'reason', 'id', 'dryRun'], 'retry-now');
  const wish = readActOptions(options, 'retry_refused');
  const delivery = readDeliveryName(name);
  const { deliveryKey, tenant, publication, endpoint } = delivery;
  const refused = (why: string) =>
    new OnefoldError('retry_refused', `${JSON.stringify(publication)} to ${endpoint} cannot be sent now: ${why}`);
  try {
    return await context.client.withDeadline(Date.now() + temporalWithinMs, async () => {
      const recorded = await readDelivery(context.ledger.database.query, context.ledger.schema, delivery);
      if (!recorded) throw unknown(delivery);
      if (recorded.state !== 'started') throw refused(instead[recorded.state]);
      const status = await askStatus<DeliveryStatus>(context, deliveryKey);
      const answer = { ...delivery, id: wish.id, ...(status ? { found: foundOf(status) } : {}) };
      if (options.dryRun) return { ...answer, outcome: 'dry_run' };
      const act = { ...wish, id: `${deliveryKey}#${wish.id}`, tenant, about: deliveryKey, seen: answer.found ?? null };
      const isNow = await carryOutRetry(context, act, async () => {
        try {
          await context.client.workflow.getHandle(deliveryKey).signal(deliveryHandlerNames.retryNow);
          return true;
        } catch (error) {
          if (error instanceof WorkflowNotFoundError) throw refused('its workflow was closed: replay it');
          throw error;
        }
      });
      const outcome = isNow ? 'told' : 'told_before';
      const { by, reason } = wish;
      context.log.info(
        { deliveryKey, publication, endpoint, act: wish.id, by, reason, outcome },
        'delivery.retried_now',
      );
      return { ...answer, outcome };
    });
  } catch (error) {
    throw operationFailure(error);
  }
}

function foundOf({ phase, attempts, nextTryAt, lastFailure }: DeliveryStatus) {
  return {
    phase,
    attempts,
    ...(nextTryAt === undefined ? {} : { nextTryAt }),
    ...(lastFailure ? { lastFailure } : {}),
  };
}
