import { inputWithoutBody } from '../effects/plan-event.js';
import { travellingResult } from '../effects/travelling-result.js';
import { abandonEvent } from '../ledger/abandon-event.js';
import { readPlan } from '../ledger/read-plan.js';
import { readAct } from '../ledger/record-act.js';
import type { AbandonRequest, EffectEnd, ProcessEventInput } from '../workflows/contract.js';
import type { ActivityDependencies } from './dependencies.js';
import type { EventRef } from './event-ref.js';

/** The argument of the `recordAbandon` activity. */
export interface RecordAbandonArgument {
  readonly event: EventRef;
  readonly input: ProcessEventInput;
  readonly request: AbandonRequest;
  /** The event key and the update's id: the identity of the act. */
  readonly act: string;
}

/** What the ledger says once the last attempt has ended. */
export interface RecordAbandonAnswer {
  /** False where the event was done already. */
  readonly abandoned: boolean;
  /** Effects of the event that the ledger has as ended. */
  readonly ends: readonly EffectEnd[];
}

/** Makes the activity that records an abandoned event together with the act of the person. */
export function createRecordAbandon(deps: ActivityDependencies) {
  return async function recordAbandon({
    event,
    input,
    request,
    act,
  }: RecordAbandonArgument): Promise<RecordAbandonAnswer> {
    const { query } = deps.ledger.database;
    const { schema } = deps.ledger;
    const ends = await readEnds(deps, event);
    const abandoned = await abandonEvent(query, schema, {
      ...event,
      input: inputWithoutBody(input),
      act,
      by: request.by,
      reason: request.reason,
      seen: JSON.stringify(ends.map(({ effect, businessKey, outcome }) => ({ effect, businessKey, outcome }))),
    });
    deps.log.info({ eventKey: event.eventKey, by: request.by, act, abandoned }, 'webhook.abandoned');
    return { abandoned, ends };
  };
}

/** Makes the activity that says whether an update was carried out before: a reset applies updates again. */
export function createWasActCarriedOut(deps: ActivityDependencies) {
  return async function wasActCarriedOut(act: { readonly tenant: string; readonly id: string }): Promise<boolean> {
    const { database, schema } = deps.ledger;
    return (await readAct(database.query, schema, act.tenant, act.id)) !== undefined;
  };
}

/**
 * Makes the activity that asks the ledger how an event's effects stand. Whatever else completed an attempt, such as
 * `temporal activity complete` by hand, only the ledger makes it done.
 */
export function createReadEffectEnds(deps: ActivityDependencies) {
  return async function readEffectEnds(event: EventRef): Promise<readonly EffectEnd[]> {
    return readEnds(deps, event);
  };
}

async function readEnds(deps: ActivityDependencies, event: EventRef): Promise<EffectEnd[]> {
  const { database, schema } = deps.ledger;
  const effects = (await readPlan(database.query, schema, event.tenant, event.eventKey))?.effects ?? [];
  return effects.flatMap(({ effect, businessKey, ended }) => {
    if (!ended) return [];
    const { result, ...end } = ended;
    return [
      {
        effect: deps.catalogue.effect(effect)?.name ?? effect,
        businessKey,
        attempts: 0,
        ...end,
        ...(result ? { result: travellingResult(result, effects.length) } : {}),
      },
    ];
  });
}
