import assert from 'node:assert';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { OnefoldError } from '../../errors.js';
import type { TransactionLimits } from '../../ledger/database.js';
import type { DeliveryState } from '../../ledger/publication-deliveries/delivery-row.js';
import { laterAct } from '../../ledger/publication-deliveries/later-act.js';
import { lockAct } from '../../ledger/publication-deliveries/lock-act.js';
import { type RecordedAct, readAct, recordAct, setActOutcome } from '../../ledger/record-act.js';
import { deliveryPolicy } from '../../publisher/delivery-policy.js';
import type { EndpointState } from '../../publisher/endpoint.js';
import { type DeliverPublication, deliveryStartOptions } from '../../runtime/delivery-start-options.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { readSearchAttributes } from '../../runtime/temporal.js';
import { type DeliverPublicationInput, deliverPublicationName } from '../../workflows/delivery-contract.js';
import type { OperationsContext } from '../context.js';
import { describeExecution } from '../describe-execution.js';
import { findReplayRun } from '../find-replay-run.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';
import { type ClosedDelivery, readClosedDelivery } from './closed-delivery.js';
import { type DeliveryName, type NamedDelivery, readDeliveryName } from './read-delivery-name.js';

/** Who sends a delivery again, and why. */
export interface ReplayDeliveryOptions extends ActOptions {
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

const known: readonly (keyof ReplayDeliveryOptions)[] = ['by', 'reason', 'id', 'dryRun'];

/** What a wish was shown before it was carried out; kept with its act. */
interface Seen {
  /** The `webhook-id`, the same as in every attempt before. */
  readonly eventId: string;
  /** Where the delivery stood: in the ledger and in Temporal, and what its endpoint took. */
  readonly state: { readonly ledger: DeliveryState; readonly temporal: string; readonly endpoint: EndpointState };
  /** Attempts made before. */
  readonly attempts: number;
}

/** What came of a replay. */
export interface ReplayDeliveryOutcome extends Seen {
  readonly tenant: string;
  readonly publication: string;
  readonly endpoint: string;
  readonly deliveryKey: string;
  /** Identity of the wish. */
  readonly id: string;
  /**
   * `started`: a new run sends it, with the whole budget before it. `lost_race`: another run of the delivery was started
   * meanwhile, and sends it. `superseded`: before this wish could start a run, a later act sent the delivery or gave it up,
   * and that stands. `dry_run`: nothing was changed.
   */
  readonly outcome: 'started' | 'lost_race' | 'superseded' | 'dry_run';
  readonly runId?: string;
  /** Id of the later act, where there was one. */
  readonly supersededBy?: string;
}

/** Everything a replay asks of Temporal, the wait for an ending run included. */
const temporalWithinMs = 30_000;

/**
 * Of the transaction in which one wish is carried out: longer than everything that it asks of Temporal, so that whoever
 * waits with the same wish is answered, and a frozen process lets go of it.
 */
const carryLimits: TransactionLimits = { statementTimeoutMs: 45_000, lockTimeoutMs: 45_000, idleTimeoutMs: 45_000 };

/**
 * Sends a delivery again that has ended, delivered ones too, under the same event identity, by which its receiver
 * recognises it. The wish is recorded as an act of its own before anything is started: repeating it answers its first
 * outcome, however often and from however many processes, and another wish is sent once more.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option, `identity_invalid`, `publication_unknown`,
 * `replay_refused` while it is under way or queued, where its endpoint was removed, and for the id of another act;
 * `temporal_unavailable`, `ledger_unavailable`, `migration_missing`.
 */
export async function replayDelivery(
  context: OperationsContext,
  name: DeliveryName,
  options: ReplayDeliveryOptions,
): Promise<ReplayDeliveryOutcome> {
  refuseUnknownOptions(options, known, 'replay of a delivery');
  const { dryRun, ...wish } = options;
  const act = { ...readActOptions(wish), isNew: wish.id === undefined };
  const registered = registeredAttributes(context);
  return replayNamed(context, readDeliveryName(name), act, { dryRun: dryRun === true, registered });
}

/** Makes what tells which search attributes a start may name, asked for once; without them a run is merely not found by them. */
export function registeredAttributes(context: OperationsContext): () => Promise<ReadonlySet<string>> {
  let reading: Promise<ReadonlySet<string>> | undefined;
  return () => (reading ??= readSearchAttributes(context.client, context.namespace).catch(() => new Set<string>()));
}

/** A wish as it is carried out. */
export interface ReplayAct extends Required<ActOptions> {
  /** Its id was made for it just now, so that no earlier command can have had it. */
  readonly isNew: boolean;
}

/** How a wish is carried out. */
export interface ReplayNamedOptions {
  readonly dryRun: boolean;
  /** See {@link registeredAttributes}; whoever replays many asks once. */
  readonly registered: () => Promise<ReadonlySet<string>>;
}

/** {@link replayDelivery} for whoever replays many. */
export async function replayNamed(
  context: OperationsContext,
  delivery: NamedDelivery,
  act: ReplayAct,
  { dryRun, registered }: ReplayNamedOptions,
): Promise<ReplayDeliveryOutcome> {
  try {
    return await context.client.withDeadline(Date.now() + temporalWithinMs, async () => {
      const { query } = context.ledger.database;
      const { schema } = context.ledger;
      const { tenant, deliveryKey } = delivery;
      const isRepeated = !dryRun && !act.isNew && (await readAct(query, schema, tenant, act.id)) !== undefined;
      if (isRepeated) return carryOut(context, delivery, act, undefined, registered);
      const closed = await readClosedDelivery(context, delivery, query);
      const seen = seenOf(closed);
      if (dryRun) return { ...delivery, id: act.id, ...seen, outcome: 'dry_run' };
      const isFirst = await recordAct(query, schema, {
        tenant,
        id: act.id,
        kind: 'replay',
        eventKey: deliveryKey,
        actor: act.by,
        reason: act.reason,
        seen: JSON.stringify(seen),
        outcome: 'asked',
      });
      return carryOut(context, delivery, act, isFirst ? closed : undefined, registered);
    });
  } catch (error) {
    throw operationFailure(error);
  }
}

function seenOf({ recorded, execution }: ClosedDelivery): Seen {
  return {
    eventId: recorded.eventId,
    state: {
      ledger: recorded.state,
      temporal: execution?.status.name.toLowerCase() ?? 'forgotten',
      endpoint: recorded.endpointState,
    },
    attempts: recorded.attempts,
  };
}

/**
 * Carries a recorded wish out, or answers how that went before. The act's row is held meanwhile: of one command given
 * twice at once the second waits here, and must not start a run after that of the first has ended.
 *
 * @param closed As read by whoever has just recorded the wish; undefined where it was recorded before.
 */
async function carryOut(
  context: OperationsContext,
  delivery: NamedDelivery,
  { id, by, reason }: ReplayAct,
  closed: ClosedDelivery | undefined,
  registered: () => Promise<ReadonlySet<string>>,
): Promise<ReplayDeliveryOutcome> {
  const { tenant, publication, endpoint, deliveryKey } = delivery;
  const { database, schema } = context.ledger;
  // Before the transaction, which holds a connection.
  const attributes = await registered();
  return database.transaction(async (_tx, sql) => {
    const act = await lockAct(sql, schema, tenant, id);
    assert(act, 'an act that was recorded is there');
    refuseOtherAct(act, delivery);
    const seen = JSON.parse(act.seen) as Seen;
    const answer = (outcome: ReplayDeliveryOutcome['outcome'], runId?: string): ReplayDeliveryOutcome => ({
      ...delivery,
      id,
      ...seen,
      outcome,
      ...(runId === undefined ? {} : { runId }),
    });
    const superseded = async (): Promise<ReplayDeliveryOutcome | undefined> => {
      const by = await laterAct(sql, schema, delivery, act);
      return by === undefined ? undefined : { ...answer('superseded'), supersededBy: by };
    };
    if (act.outcome === 'superseded') return (await superseded()) ?? answer('superseded');
    if (act.outcome === 'lost_race') return answer('lost_race');
    const mayHaveRun = closed === undefined || act.outcome !== 'asked';
    const earlierRun = mayHaveRun ? await runOf(context, deliveryKey, id) : undefined;
    if (act.outcome === 'started') return answer('started', earlierRun);
    // The process that recorded it may have died before the start, and somebody else have acted since: a run would send nothing.
    const late = earlierRun === undefined ? await superseded() : undefined;
    if (late) {
      await setActOutcome(sql, schema, { tenant, id, outcome: 'superseded' });
      return late;
    }
    // Or it may have died after the start, before it could write that down.
    const runId =
      earlierRun ??
      (await start(context, deliveryKey, {
        ...inputOf(closed ?? (await readClosedDelivery(context, delivery, sql)), attributes),
        replay: { id, by, reason, at: new Date().toISOString() },
      }));
    const outcome = runId === undefined ? 'lost_race' : 'started';
    await setActOutcome(sql, schema, { tenant, id, outcome });
    const { eventId } = seen;
    context.log.info(
      { deliveryKey, publication, endpoint, eventId, act: id, by, reason, outcome, runId },
      'delivery.replayed',
    );
    return answer(outcome, runId);
  }, carryLimits);
}

function refuseOtherAct(act: RecordedAct, { deliveryKey }: NamedDelivery): void {
  if (act.kind === 'replay' && act.eventKey === deliveryKey) return;
  throw new OnefoldError('replay_refused', `the id ${act.id} is that of another act: ${act.kind} of ${act.eventKey}`);
}

function inputOf({ recorded }: ClosedDelivery, registered: ReadonlySet<string>): DeliverPublicationInput {
  const { tenant, endpoint, publication, eventId, type } = recorded;
  return {
    version: 1,
    tenant,
    endpoint,
    publication,
    eventId,
    type,
    publishedAt: recorded.publishedAt.toISOString(),
    policy: deliveryPolicy(recorded.budget),
    searchAttributes: [...registered],
  };
}

/** @returns The new run's id, or undefined where another run was started meanwhile. */
async function start(
  context: OperationsContext,
  deliveryKey: string,
  input: DeliverPublicationInput & { readonly replay: { readonly id: string } },
): Promise<string | undefined> {
  try {
    const handle = await context.client.workflow.start<DeliverPublication>(deliverPublicationName, {
      ...deliveryStartOptions(input, context.taskQueue),
      // A delivered one is a completed execution, and a replay is what may run it again.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
    });
    return handle.firstExecutionRunId;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return runOf(context, deliveryKey, input.replay.id);
  }
}

async function runOf(context: OperationsContext, deliveryKey: string, act: string): Promise<string | undefined> {
  return findReplayRun(context, deliveryKey, await describeExecution(context.client, deliveryKey), act);
}
