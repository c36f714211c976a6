import { setTimeout as sleep } from 'node:timers/promises';
import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { OnefoldError } from '../../errors.js';
import type { TransactionLimits } from '../../ledger/database.js';
import { abandonDelivery as abandonRow } from '../../ledger/publication-deliveries/abandon-delivery.js';
import type { DeliveryState } from '../../ledger/publication-deliveries/delivery-row.js';
import { type DeliveryInFull, readDelivery } from '../../ledger/publication-deliveries/read-delivery.js';
import { readAct, recordAct } from '../../ledger/record-act.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { AbandonRequest } from '../../workflows/contract.js';
import { type AbandonDeliveryAnswer, deliveryHandlerNames } from '../../workflows/delivery-contract.js';
import type { OperationsContext } from '../context.js';
import { describeExecution, isClosed } from '../describe-execution.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';
import { unknown } from './closed-delivery.js';
import { type DeliveryName, type NamedDelivery, readDeliveryName } from './read-delivery-name.js';

/** Who gives a delivery up, and why. */
export type AbandonDeliveryOptions = ActOptions;

const known: readonly (keyof AbandonDeliveryOptions)[] = ['by', 'reason', 'id'];

/** What came of it. */
export interface AbandonDeliveryOutcome {
  readonly tenant: string;
  readonly publication: string;
  readonly endpoint: string;
  readonly deliveryKey: string;
  /** Identity of the wish; its act is recorded under `<deliveryKey>#<id>`. */
  readonly id: string;
  /**
   * `abandoned`: nothing is sent any more. `already_abandoned`: somebody had given it up before. `superseded`: this wish
   * was carried out before, and somebody has sent the delivery again since.
   */
  readonly outcome: 'abandoned' | 'already_abandoned' | 'superseded';
  /** Where it stood before. */
  readonly state: DeliveryState;
}

/** Everything that it asks of Temporal. */
const temporalWithinMs = 30_000;

/** A delivery that is just being started, or is just ending, is looked at again for so long. */
const settleWithinMs = 10_000;
const lookEveryMs = 100;

/** Two short statements. */
const limits: TransactionLimits = { statementTimeoutMs: 10_000, lockTimeoutMs: 10_000, idleTimeoutMs: 10_000 };

/**
 * Gives a delivery up: one under way by its workflow, once the attempt that is being made has ended; a queued or
 * dead-lettered one in the ledger, whatever became of its endpoint. Its open dead letter is closed. Only a replay sends it
 * after that.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option, `identity_invalid`, `publication_unknown`;
 * `abandon_refused` where it was delivered, and without who or why; `temporal_unavailable`, also where no worker takes the
 * wish to its workflow; `ledger_unavailable`, `migration_missing`.
 */
export async function abandonDelivery(
  context: OperationsContext,
  name: DeliveryName,
  options: AbandonDeliveryOptions,
): Promise<AbandonDeliveryOutcome> {
  refuseUnknownOptions(options, known, 'abandoning of a delivery');
  const wish = readActOptions(options, 'abandon_refused');
  const delivery = readDeliveryName(name);
  try {
    return await context.client.withDeadline(Date.now() + temporalWithinMs, () => carryOut(context, delivery, wish));
  } catch (error) {
    throw operationFailure(error);
  }
}

async function carryOut(
  context: OperationsContext,
  delivery: NamedDelivery,
  wish: Required<ActOptions>,
): Promise<AbandonDeliveryOutcome> {
  const { query } = context.ledger.database;
  const { schema } = context.ledger;
  const act = `${delivery.deliveryKey}#${wish.id}`;
  let before: DeliveryState | undefined;
  let because = 'it is just being started, or is just ending';
  const answer = (outcome: AbandonDeliveryOutcome['outcome'], state: DeliveryState): AbandonDeliveryOutcome => {
    const { by, reason, id } = wish;
    const { deliveryKey, publication, endpoint } = delivery;
    context.log.info({ deliveryKey, publication, endpoint, act: id, by, reason, outcome }, 'delivery.abandoned');
    return { ...delivery, id, outcome, state };
  };
  for (const until = Date.now() + settleWithinMs; ; ) {
    const recorded = await readDelivery(query, schema, delivery);
    if (!recorded) throw unknown(delivery);
    const { state } = recorded;
    before ??= state;
    if (await readAct(query, schema, delivery.tenant, act)) {
      return answer(state === 'abandoned' ? 'abandoned' : 'superseded', before);
    }
    if (state === 'delivered') throw refused(delivery, 'it was delivered');
    // After the ledger: a delivery that it has as started has had its workflow before.
    const execution = await describeExecution(context.client, delivery.deliveryKey);
    if (execution && !isClosed(execution)) {
      const answered = await askRun(context, delivery, wish);
      if (answered?.abandoned) return answer('abandoned', before);
      because = answered?.because ?? because;
    } else if (state === 'abandoned') {
      return answer('already_abandoned', before);
    } else if (await abandonInLedger(context, delivery, recorded, { ...wish, id: act })) {
      return answer('abandoned', before);
    }
    if (Date.now() > until) throw refused(delivery, because);
    await sleep(lookEveryMs);
  }
}

/** @returns Undefined where the run ended before it could answer. */
async function askRun(
  { client }: OperationsContext,
  { deliveryKey }: NamedDelivery,
  { id, by, reason }: Required<ActOptions>,
): Promise<AbandonDeliveryAnswer | undefined> {
  try {
    const { abandon } = deliveryHandlerNames;
    return await client.workflow
      .getHandle(deliveryKey)
      .executeUpdate<AbandonDeliveryAnswer, [AbandonRequest]>(abandon, { args: [{ by, reason }], updateId: id });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError) return undefined;
    if (!(error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)) throw error;
    throw new OnefoldError(
      'temporal_unavailable',
      `no worker took the wish to the delivery's workflow in time, or its attempt has not ended yet: repeat it under the id ${id} while a worker runs`,
      { cause: error },
    );
  }
}

async function abandonInLedger(
  { ledger }: OperationsContext,
  delivery: NamedDelivery,
  { state, attempts, endpointState }: DeliveryInFull,
  { id, by, reason }: Required<ActOptions>,
): Promise<boolean> {
  const { database, schema } = ledger;
  return database.transaction(async (_tx, sql) => {
    if (!(await abandonRow(sql, schema, { ...delivery, from: state, by, reason }))) return false;
    await recordAct(sql, schema, {
      tenant: delivery.tenant,
      id,
      kind: 'abandon',
      eventKey: delivery.deliveryKey,
      actor: by,
      reason,
      seen: JSON.stringify({ state, endpoint: endpointState, attempts }),
      outcome: 'abandoned',
    });
    return true;
  }, limits);
}

function refused({ publication, endpoint }: NamedDelivery, because: string): OnefoldError {
  return new OnefoldError(
    'abandon_refused',
    `${JSON.stringify(publication)} to ${endpoint} cannot be given up: ${because}`,
  );
}
