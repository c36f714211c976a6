import { latestActs } from '../../ledger/acts/latest-acts.js';
import { listDeadLetters } from '../../ledger/dead-letters/list-dead-letters.js';
import type { RecordedDelivery } from '../../ledger/publication-deliveries/delivery-row.js';
import { listAttempts, type RecordedAttempt } from '../../ledger/publication-deliveries/list-attempts.js';
import { type DeliveryInFull, readDelivery } from '../../ledger/publication-deliveries/read-delivery.js';
import type { Act, RecordedAct } from '../../ledger/record-act.js';
import { deliveryPolicy } from '../../publisher/delivery-policy.js';
import type { EndpointState } from '../../publisher/endpoint.js';
import { within } from '../../runtime/within.js';
import { type DeliveryStatus, deliveryHandlerNames } from '../../workflows/delivery-contract.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { unknown } from './closed-delivery.js';
import { type DeliveryDeadLetter, deliveryDeadLetter } from './list-dead-letters.js';
import { type DeliveryPlan, plannedAttempts } from './planned-attempts.js';
import { type DeliveryName, type NamedDelivery, readDeliveryName } from './read-delivery-name.js';

/** What a person did about a delivery. */
export interface DeliveryAct {
  readonly id: string;
  readonly kind: Act['kind'];
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
  readonly outcome: string;
}

/** A delivery with all that is known of it. */
export interface ShownDelivery extends RecordedDelivery {
  readonly deliveryKey: string;
  readonly endpointState: EndpointState;
  /** What published it, where an effect or a republishing did. */
  readonly cause?: unknown;
  readonly abandoned?: { readonly by: string; readonly reason: string };
  /** The latest, in the order in which they were made; `attempts` counts all. */
  readonly attemptsMade: readonly RecordedAttempt[];
  /** The latest one, closed or open. */
  readonly deadLetter?: DeliveryDeadLetter;
  readonly acts: readonly DeliveryAct[];
  /** What is still to come; undefined where it has ended. */
  readonly plan?: DeliveryPlan;
}

/** Of attempts and of acts: far more than a budget has, and an answer that stays small. */
const rowsShown = 100;

/** A query waits for a worker; who only looks does not wait for long. */
const queryWithinMs = 3_000;

/**
 * Shows one delivery: every attempt, its dead letter, what people did about it, and what is still to come. Where no worker
 * answers, what is to come is computed from its budget.
 *
 * @throws {OnefoldError} `publication_unknown`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function showDelivery(context: OperationsContext, name: DeliveryName): Promise<ShownDelivery> {
  const named = readDeliveryName(name);
  const { tenant, deliveryKey } = named;
  const { database, schema } = context.ledger;
  const { query } = database;
  try {
    const found = await readDelivery(query, schema, named);
    if (!found) throw unknown(named);
    const [attemptsMade, acts, letters, status] = await Promise.all([
      listAttempts(query, schema, named, rowsShown),
      latestActs(query, schema, { tenant, eventKey: deliveryKey }, rowsShown),
      listDeadLetters(query, schema, { tenant, kind: 'delivery', key: deliveryKey, open: false }, { limit: 1 }),
      found.state === 'started' ? askRun(context, named) : undefined,
    ]);
    const { cause, budget: _budget, ...delivery } = found;
    const plan = status ? planOfRun(status) : planByBudget(found, attemptsMade, acts);
    return {
      ...delivery,
      deliveryKey,
      ...(cause === undefined ? {} : { cause: JSON.parse(cause) as unknown }),
      attemptsMade,
      ...(letters[0] ? { deadLetter: deliveryDeadLetter(letters[0]) } : {}),
      acts: acts.map(({ id, kind, actor, reason, at, outcome }) => ({ id, kind, by: actor, reason, at, outcome })),
      ...(plan ? { plan } : {}),
    };
  } catch (error) {
    throw operationFailure(error);
  }
}

function planOfRun({ plan, givesUpAt, phase, nextTryAt }: DeliveryStatus): DeliveryPlan {
  return { from: 'workflow', attempts: plan, givesUpAt, phase, ...(nextTryAt === undefined ? {} : { nextTryAt }) };
}

function planByBudget(
  { state, budget, publishedAt, replay }: DeliveryInFull,
  attempts: readonly RecordedAttempt[],
  acts: readonly RecordedAct[],
): DeliveryPlan | undefined {
  if (state !== 'queued' && state !== 'started') return undefined;
  const policy = deliveryPolicy(budget);
  const begun = acts.find(({ id }) => id === replay)?.at ?? publishedAt;
  const last = attempts.findLast(({ startedAt }) => startedAt >= begun);
  const pauseMs = last === undefined ? 0 : (policy.pausesMs[last.attempt - 1] ?? 0);
  const dueAt = Math.max(Date.now(), (last?.endedAt ?? new Date()).getTime() + pauseMs);
  return plannedAttempts(policy, { made: last?.attempt ?? 0, dueAt, budgetFrom: begun.getTime() });
}

async function askRun(
  { client }: OperationsContext,
  { deliveryKey }: NamedDelivery,
): Promise<DeliveryStatus | undefined> {
  const asked = client.withDeadline(Date.now() + queryWithinMs, () =>
    client.workflow.getHandle(deliveryKey).query<DeliveryStatus>(deliveryHandlerNames.status),
  );
  try {
    return await within(queryWithinMs, asked, () => new Error('late'));
  } catch {
    return undefined;
  }
}
