import { AssertionError } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApplicationFailure,
  type Client,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { Effect } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import { type EffectEnd, type EventStatus, handlerNames, type ProcessEventResult } from '../workflows/contract.js';
import { readStoredResult } from './effect-report.js';

/** How one effect of an event stands. */
export interface EffectOutcomeReport {
  readonly effect: string;
  readonly businessKey?: string;
  /** `open` where the event stopped before it: a sibling is parked. */
  readonly outcome: EffectEnd['outcome'] | 'parked' | 'open';
  /** Business attempts, those that crashed included. */
  readonly attempts: number;
  /** What the effect returned, read back from its stored JSON. */
  readonly result?: unknown;
  /** `source/event-id` of the event that did it, where it was another. */
  readonly doneBy?: string;
  readonly otherData?: boolean;
  readonly code?: string;
  readonly message?: string;
}

/** How an event ended, or that it waits for a person. */
export interface EventOutcomeReport {
  /** `terminated` and `cancelled`: its workflow was closed from outside. */
  readonly outcome: ProcessEventResult['outcome'] | 'dead_lettered' | 'parked' | 'terminated' | 'cancelled';
  /** Of the dead letter. */
  readonly code?: string;
  readonly message?: string;
  /** In the order of the configuration. */
  readonly effects: readonly EffectOutcomeReport[];
}

/** What is asked about. */
export interface AskedEvent {
  readonly client: Client;
  readonly ledger: Ledger;
  readonly effects: readonly Effect[];
  readonly tenant: string;
  readonly eventKey: string;
  /** `source/event-id`. */
  readonly event: string;
}

const pollMs = 10;

/**
 * Waits for the end of an event, or until it waits for a person.
 *
 * @param withinMs Of real time, after which the event is taken for stuck.
 * @throws {AssertionError} With the story, where neither has come in time, and where nobody has recorded it.
 */
export async function awaitOutcome(
  asked: AskedEvent,
  withinMs: number,
  story: () => string,
): Promise<EventOutcomeReport> {
  const handle = asked.client.workflow.getHandle(asked.eventKey);
  for (const until = Date.now() + withinMs; ; await sleep(pollMs)) {
    const { status } = await handle.describe().catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      throw new AssertionError({
        message: `${asked.event} was never recorded: was it delivered, and taken?\n${story()}`,
      });
    });
    if (status.name !== 'RUNNING') return endOf(asked, handle, status.name);
    if (await isParked(asked)) return parkedOf(handle);
    if (Date.now() < until) continue;
    const { effects } = await statusOf(handle);
    const phases = effects.map(({ effect, phase, lastFailure }) => `${effect} ${phase} ${lastFailure?.code ?? ''}`);
    throw new AssertionError({
      message: `${asked.event} has not ended within ${withinMs} ms: ${phases.join(', ')}\n${story()}`,
    });
  }
}

/** By its entry, as long as the ledger has the effect as parked: a person may have spoken, and the event not have looked. */
async function isParked({ ledger: { database, schema }, tenant, eventKey }: AskedEvent): Promise<boolean> {
  const { rowCount } = await database.query(
    `SELECT 1 FROM ${schema}.dead_letters l
     JOIN ${schema}.event_effects k ON k.tenant = l.tenant AND k.event_key = l.event_key AND k.outcome IS NULL
     JOIN ${schema}.effects c ON c.tenant = k.tenant AND c.effect = k.effect AND c.business_key = k.business_key
     WHERE l.tenant = $1 AND l.event_key = $2 AND l.parked AND l.closed_at IS NULL AND c.state = 'parked'`,
    [tenant, eventKey],
  );
  return rowCount > 0;
}

/** Where the effects of a running event are, as its workflow tells. */
export function statusOf(handle: WorkflowHandle): Promise<EventStatus> {
  return handle.query<EventStatus>(handlerNames.status);
}

async function parkedOf(handle: WorkflowHandle): Promise<EventOutcomeReport> {
  const { effects } = await statusOf(handle);
  return {
    outcome: 'parked',
    effects: effects.map(({ effect, businessKey, attempts, outcome, phase, lastFailure }) => ({
      effect,
      businessKey,
      attempts,
      outcome: outcome ?? (phase === 'parked' ? 'parked' : 'open'),
      ...lastFailure,
    })),
  };
}

async function endOf(asked: AskedEvent, handle: WorkflowHandle, status: string): Promise<EventOutcomeReport> {
  try {
    const { outcome, effects } = (await handle.result()) as ProcessEventResult;
    return { outcome, effects: await Promise.all(effects.map((end) => reportOf(asked, end))) };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    if (!(cause instanceof ApplicationFailure)) {
      return { outcome: status === 'CANCELLED' ? 'cancelled' : 'terminated', effects: [] };
    }
    const [ends] = (cause.details ?? []) as [EffectEnd[]?];
    return {
      outcome: 'dead_lettered',
      ...(typeof cause.type === 'string' ? { code: cause.type } : {}),
      message: cause.message,
      effects: await Promise.all((ends ?? []).map((end) => reportOf(asked, end))),
    };
  }
}

async function reportOf({ ledger, effects, tenant }: AskedEvent, end: EffectEnd): Promise<EffectOutcomeReport> {
  const { fence: _fence, result, equalTo: _equalTo, ...report } = end;
  const effect = effectNamed(effects, end.effect);
  const { businessKey = '' } = end;
  return { ...report, ...(effect ? await readStoredResult(ledger, effect, { tenant, businessKey }, result) : {}) };
}

function effectNamed(effects: readonly Effect[], name: string): Effect | undefined {
  return effects.find((effect) => effect.name === name || effect.formerly.includes(name));
}
