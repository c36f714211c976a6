import { WorkflowNotFoundError } from '@temporalio/client';
import { OnefoldError } from '../errors.js';
import { displayEvent } from '../identity/event-identity.js';
import { listWaitingEvents, type WaitingEvent } from '../ledger/list-waiting-events.js';
import type { ClaimIdentity } from '../ledger/read-claim.js';
import { handlerNames } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';
import { operationFailure } from './operation-failure.js';
import { replayEvent } from './replay-event.js';

/** An event that waited for an effect under a business key, and what it was told. */
export interface ToldEvent {
  /** `source/event-id`. */
  readonly event: string;
  readonly eventKey: string;
  /** `signalled`: its workflow looks now. `restarted`: it runs again. `left`: nothing was done about it. */
  readonly action: 'signalled' | 'restarted' | 'left';
  /** Why it was left. */
  readonly because?: string;
}

/** The act on whose behalf they are told. */
export interface ResolvedBy {
  readonly id: string;
  readonly by: string;
  readonly reason: string;
  /** The effect's present name. */
  readonly effect: string;
  /** Key of the event whose attempt left the outcome unknown. */
  readonly leftBy: string;
}

/** Events told side by side. */
const pageRows = 20;

/** What one event's signal asks of Temporal. */
const signalWithinMs = 10_000;

/** A person or another system closed it, and a person's word about one effect is no wish to open it again. */
const closedOnPurpose: ReadonlySet<string> = new Set(['terminated', 'cancelled']);

/**
 * Tells every event that waits for a business key to look again: a running one by a signal; one that was dead-lettered for
 * it, by running it again. Abandoned and completed events are left alone.
 *
 * @returns `toldAll` is false where some could not be told: of the rest of the pages nothing was done either then.
 */
export async function tellWaiting(
  context: OperationsContext,
  identity: ClaimIdentity,
  act: ResolvedBy,
): Promise<{ readonly waiting: readonly ToldEvent[]; readonly toldAll: boolean }> {
  const { database, schema } = context.ledger;
  const waiting: ToldEvent[] = [];
  for (let after = ''; ; ) {
    let page: readonly WaitingEvent[];
    try {
      page = await listWaitingEvents(database.query, schema, identity, { after, limit: pageRows });
    } catch (error) {
      // The word is spoken and committed; that nobody could be told of it must not look as if it were not.
      context.log.warn({ act: act.id, code: codeOf(error).code }, 'effect.waiting_untold');
      return { waiting, toldAll: false };
    }
    const told = await Promise.all(page.map((event) => tell(context, identity, act, event)));
    waiting.push(...told.map(({ failed: _failed, ...event }) => event));
    if (told.some(({ failed }) => failed)) return { waiting, toldAll: false };
    if (page.length < pageRows) return { waiting, toldAll: true };
    after = page.at(-1)?.eventKey ?? '';
  }
}

type Told = ToldEvent & { readonly failed?: true };

async function tell(
  context: OperationsContext,
  identity: ClaimIdentity,
  act: ResolvedBy,
  waiting: WaitingEvent,
): Promise<Told> {
  const named = { event: displayEvent(waiting), eventKey: waiting.eventKey };
  try {
    if (waiting.state === 'dead_lettered') return { ...named, ...(await restart(context, identity, act, waiting)) };
    return { ...named, ...(await signal(context, identity, waiting)) };
  } catch (error) {
    const { code, message } = codeOf(error);
    context.log.warn({ ...named, act: act.id, code }, 'effect.waiting_untold');
    return { ...named, action: 'left', because: `${code}: ${message}`, failed: true };
  }
}

function codeOf(error: unknown): { readonly code: string; readonly message: string } {
  const failure = operationFailure(error);
  if (failure instanceof OnefoldError) return { code: failure.code, message: failure.message };
  return { code: 'internal_error', message: failure instanceof Error ? failure.message : typeof failure };
}

/** Under each name, since a running workflow knows the effect by the one that it had when it was planned. */
async function signal(
  { client }: OperationsContext,
  { names }: ClaimIdentity,
  { eventKey }: WaitingEvent,
): Promise<Pick<ToldEvent, 'action' | 'because'>> {
  const handle = client.workflow.getHandle(eventKey);
  try {
    await client.withDeadline(Date.now() + signalWithinMs, async () => {
      for (const effect of new Set(names)) await handle.signal(handlerNames.retryNow, { effect });
    });
    return { action: 'signalled' };
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return { action: 'left', because: 'its workflow was closed from outside: replay it, or let it be redelivered' };
  }
}

async function restart(
  context: OperationsContext,
  identity: ClaimIdentity,
  { id, by, reason, effect, leftBy }: ResolvedBy,
  waiting: WaitingEvent,
): Promise<Pick<ToldEvent, 'action' | 'because'>> {
  const { eventKey, code = 'unknown' } = waiting;
  const forIt = code === 'effect_parked' || eventKey === leftBy;
  if (!forIt || closedOnPurpose.has(code)) {
    return { action: 'left', because: `dead-lettered with ${code}: replay it` };
  }
  try {
    const { outcome } = await replayEvent(context, eventKey, {
      // The same act restarts an event once, however often it is repeated.
      id: `${id}#${eventKey}`,
      by,
      reason: `'${effect}' resolved: ${reason}`,
    });
    return outcome === 'nothing_to_do'
      ? { action: 'left', because: 'every effect of it has ended meanwhile' }
      : { action: 'restarted' };
  } catch (error) {
    if (!(error instanceof OnefoldError && error.code === 'replay_refused')) throw error;
    // It is running again already: a redelivery came first.
    return signal(context, identity, waiting);
  }
}
