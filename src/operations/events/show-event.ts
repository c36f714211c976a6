import { OnefoldError } from '../../errors.js';
import { displayEvent } from '../../identity/event-identity.js';
import { type CountedDeliveries, countDeliveries } from '../../ledger/events/count-deliveries.js';
import type { RecordedEvent } from '../../ledger/read-plan.js';
import type { EventStatus } from '../../workflows/contract.js';
import { askStatus } from '../ask-status.js';
import type { OperationsContext } from '../context.js';
import { type DeadLetter, listDeadLetters } from '../dead-letters/list-dead-letters.js';
import { isClosed } from '../describe-execution.js';
import { type EffectStanding, effectStandings } from '../effect-standing.js';
import { readEventState } from '../event-state.js';
import { operationFailure } from '../operation-failure.js';
import { readEventName } from '../read-event-name.js';

/** Where an event stands now. */
export interface ShownEvent {
  readonly tenant: string;
  /** `source/event-id`. */
  readonly event: string;
  readonly eventKey: string;
  readonly type?: string;
  /** `unknown` where the ledger has no record of it. */
  readonly ledger: RecordedEvent['state'] | 'unknown';
  /** State of its latest run; `forgotten` where Temporal has none. */
  readonly temporal: string;
  readonly runId?: string;
  readonly startedAt?: Date;
  readonly closedAt?: Date;
  readonly abandoned?: { readonly by: string; readonly reason: string };
  readonly effects: readonly EffectStanding[];
  /** What its workflow answers; absent where it does not run, or no worker answers. */
  readonly status?: EventStatus;
  readonly deadLetter?: DeadLetter;
  readonly deliveries: readonly CountedDeliveries[];
}

/** Everything asked of Temporal. */
const temporalWithinMs = 10_000;

/**
 * Shows where an event stands, in the ledger and in Temporal. `traceIdentity` tells how it came there.
 *
 * @throws {OnefoldError} `event_unknown` where neither knows it, `identity_invalid`, `temporal_unavailable`,
 * `ledger_unavailable`, `migration_missing`.
 */
export async function showEvent(
  context: OperationsContext,
  { event: name, tenant: of }: { readonly event: string; readonly tenant?: string },
): Promise<ShownEvent> {
  const event = readEventName(name, of);
  const { tenant, eventKey } = event;
  const { database, schema } = context.ledger;
  try {
    return await context.client.withDeadline(Date.now() + temporalWithinMs, async () => {
      const { recorded, execution } = await readEventState(context, event);
      const deliveries = await countDeliveries(database.query, schema, { tenant, eventKey });
      if (!recorded && !execution && deliveries.length === 0) {
        throw new OnefoldError('event_unknown', `neither the ledger nor Temporal knows ${event.source}/${event.id}`);
      }
      const running = execution && !isClosed(execution);
      const [effects, letters, status] = await Promise.all([
        recorded ? effectStandings(context, recorded) : [],
        listDeadLetters(context, { tenant, key: eventKey, limit: 1 }),
        running ? askStatus(context, eventKey) : undefined,
      ]);
      const [deadLetter] = letters.items;
      return {
        tenant,
        event: displayEvent(event),
        eventKey,
        ...(recorded ? { type: recorded.type } : {}),
        ledger: recorded?.state ?? 'unknown',
        temporal: execution?.status.name.toLowerCase() ?? 'forgotten',
        ...(execution ? { runId: execution.runId, startedAt: execution.startTime } : {}),
        ...(execution?.closeTime ? { closedAt: execution.closeTime } : {}),
        ...(recorded?.abandoned ? { abandoned: recorded.abandoned } : {}),
        effects,
        ...(status ? { status } : {}),
        ...(deadLetter ? { deadLetter } : {}),
        deliveries,
      };
    });
  } catch (error) {
    throw operationFailure(error);
  }
}
