import { inputWithoutBody } from '../effects/plan-event.js';
import { travellingResult } from '../effects/travelling-result.js';
import { abandonEvent } from '../ledger/abandon-event.js';
import type { Sql } from '../ledger/database.js';
import type { Ledger } from '../ledger/ledger.js';
import { type DoubtfulEffect, readDoubts } from '../ledger/read-doubts.js';
import { readPlan } from '../ledger/read-plan.js';
import { readAct, recordAct } from '../ledger/record-act.js';
import { storableText } from '../ledger/storable-text.js';
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
  /** The event's JSON text where no plan has stored it yet. */
  readonly text?: string;
}

/** Of the whole transaction, ms: within the timeout of the activity, which is tried again. */
const transactionLimitMs = 10_000;

/** What the ledger says once the last attempt has ended. */
export interface RecordAbandonAnswer {
  /** False where the event was done already. */
  readonly abandoned: boolean;
  /** Effects of the event that the ledger has as ended. */
  readonly ends: readonly EffectEnd[];
  /** Its other effects whose outcome is unknown, by their present names. */
  readonly inDoubt: readonly DoubtfulEffect[];
}

/** Makes the activity that records an abandoned event together with the act of the person. */
export function createRecordAbandon(deps: ActivityDependencies) {
  return async function recordAbandon({
    event,
    input,
    request,
    act,
    text,
  }: RecordAbandonArgument): Promise<RecordAbandonAnswer> {
    const { database, schema } = deps.ledger;
    const answer = await database.transaction(
      async (_tx, sql) => {
        const abandoned = await abandonEvent(sql, schema, {
          ...event,
          input: inputWithoutBody(input),
          by: request.by,
          reason: request.reason,
          body: text === undefined ? undefined : Buffer.from(text),
        });
        // Only now: a completion that was committing is in, and none can follow while the event's row is held.
        const ends = await readEnds(deps, sql, event);
        if (abandoned) {
          await recordAct(sql, schema, {
            tenant: event.tenant,
            id: act,
            kind: 'abandon',
            eventKey: event.eventKey,
            actor: storableText(request.by),
            reason: storableText(request.reason),
            seen: JSON.stringify(ends.map(({ effect, businessKey, outcome }) => ({ effect, businessKey, outcome }))),
            outcome: 'abandoned',
          });
        }
        const doubts = await readDoubts(sql, schema, event.tenant, event.eventKey);
        const inDoubt = doubts.map((one) => ({ ...one, effect: presentName(deps, one.effect) }));
        return { abandoned, ends, inDoubt };
      },
      {
        statementTimeoutMs: transactionLimitMs,
        lockTimeoutMs: transactionLimitMs,
        idleTimeoutMs: transactionLimitMs,
        signal: AbortSignal.timeout(transactionLimitMs),
      },
    );
    deps.log.info({ eventKey: event.eventKey, by: request.by, act, abandoned: answer.abandoned }, 'webhook.abandoned');
    return answer;
  };
}

/** Makes the activity that says whether an update was carried out before: a reset applies updates again. */
export function createWasActCarriedOut(deps: { readonly ledger: Ledger }) {
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
    return readEnds(deps, deps.ledger.database.query, event);
  };
}

async function readEnds(deps: ActivityDependencies, sql: Sql, event: EventRef): Promise<EffectEnd[]> {
  const effects = (await readPlan(sql, deps.ledger.schema, event.tenant, event.eventKey))?.effects ?? [];
  return effects.flatMap(({ effect, businessKey, ended }) => {
    if (!ended) return [];
    const { result, ...end } = ended;
    return [
      {
        effect: presentName(deps, effect),
        businessKey,
        attempts: 0,
        ...end,
        ...(result ? { result: travellingResult(result, effects.length) } : {}),
      },
    ];
  });
}

function presentName({ catalogue }: ActivityDependencies, effect: string): string {
  return catalogue.effect(effect)?.name ?? effect;
}
