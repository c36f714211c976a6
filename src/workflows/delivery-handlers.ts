import {
  CancellationScope,
  condition,
  currentUpdateInfo,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import { checkAbandon } from './check-abandon.js';
import type { AbandonRequest } from './contract.js';
import { deliveryRecords } from './delivery-activities.js';
import { type AbandonDeliveryAnswer, type DeliveryStatus, deliveryHandlerNames } from './delivery-contract.js';
import { type DeliveryRun, deliveryStatus } from './delivery-run.js';

const retryNow = defineSignal(deliveryHandlerNames.retryNow);
const endpointChanged = defineSignal(deliveryHandlerNames.endpointChanged);
const abandon = defineUpdate<AbandonDeliveryAnswer, [AbandonRequest]>(deliveryHandlerNames.abandon);
const status = defineQuery<DeliveryStatus>(deliveryHandlerNames.status);

/** Installs what people and relays can say to a running delivery; before the first await, so that nothing is lost. */
export function installDeliveryHandlers(run: DeliveryRun): void {
  setHandler(status, () => deliveryStatus(run), { description: 'Where the delivery stands, and its plan.' });
  setHandler(
    retryNow,
    () => {
      // Also where an attempt is under way, which may have begun before what was mended: it holds for the pause after it.
      run.retryWished = true;
    },
    { description: 'End the pause between attempts, or a hold, now.' },
  );
  setHandler(
    endpointChanged,
    () => {
      run.changes += 1;
    },
    { description: 'The endpoint was changed: look at it. Sent by a relay.' },
  );
  setHandler(abandon, (request) => CancellationScope.nonCancellable(() => takeUpAbandon(run, request)), {
    description: 'Give the delivery up. Argument: {"by": who, "reason": why}.',
    validator: checkAbandon,
  });
}

/** Stops the work and waits for the run's end to record and answer it. */
async function takeUpAbandon(run: DeliveryRun, { by, reason }: AbandonRequest): Promise<AbandonDeliveryAnswer> {
  const refuse = (because: string): AbandonDeliveryAnswer => ({ abandoned: false, because });
  // An update's id is unique within its workflow alone.
  const act = `${run.deliveryKey}#${currentUpdateInfo()?.id ?? run.runId}`;
  // A reset applies updates again; what was carried out before the reset is not carried out by it.
  if (await deliveryRecords.wasActCarriedOut({ tenant: run.input.tenant, id: act })) {
    return refuse('this request was carried out before');
  }
  if (run.ending) return refuse('the delivery has just ended');
  run.abandon ??= { by, reason, act };
  run.stopWork();
  await condition(() => run.abandonAnswer !== undefined);
  return run.abandonAnswer ?? refuse('the delivery has just ended');
}
