import type { Sql, TransactionLimits } from '../ledger/database.js';
import { listUnannounced } from '../ledger/endpoints-health/list-unannounced.js';
import { type EndpointHealth, type HealthRef, lockHealth } from '../ledger/endpoints-health/lock-health.js';
import { noteHealth } from '../ledger/endpoints-health/note-health.js';
import type { Ledger } from '../ledger/ledger.js';
import { recordPublications } from '../ledger/publications/record-publication.js';
import type { SchemaName } from '../ledger/schema-name.js';
import type { EndedSend } from '../ledger/sends/end-send.js';
import type { Logger } from '../runtime/logger.js';
import { type EndpointEvent, endpointEvent } from './endpoint-event.js';
import { dueStep, failingSteps, type HealthStep, healthStep } from './health-step.js';

/** What judging health stands on. */
export interface HealthDependencies {
  readonly ledger: Ledger;
  readonly log: Logger;
  readonly metrics?: { readonly endpointsDisabled: { inc(labels: { code: string }): void } };
}

/** An attempt's endpoint, in the version that it was sent to. */
export interface AttemptRef extends HealthRef {
  readonly version: number;
}

/** Of the whole transaction, ms; what it does not do in this time is done when the endpoint is next judged. */
const limitMs = 5_000;

/** Endpoints of one round of {@link announceHealth}. */
const roundLimit = 50;

/**
 * Judges an endpoint after an attempt: tells its owner that it fails, disables it when it has failed for days, tells that
 * it is disabled or has recovered. State and message are committed together, and each occasion is told once. Where nothing
 * is due, which is nearly always, it asks the database nothing.
 *
 * An attempt at an earlier version of the endpoint says nothing of it: what an owner has just mended must not be disabled
 * for what came before. That is judged again once the endpoint's row is held.
 *
 * Never throws: what went wrong here must not become a failure of an attempt that was made.
 */
export async function judgeHealth(deps: HealthDependencies, ended: EndedSend, attempt: AttemptRef): Promise<void> {
  if (mayBeDue(ended, Date.now())) await judge(deps, attempt, attempt.version);
}

/** Tells what a process that died between an attempt's end and its judgement has left untold. For a relay, now and then. */
export async function announceHealth(deps: HealthDependencies): Promise<void> {
  const { database, schema } = deps.ledger;
  for (const ref of await listUnannounced(database.query, schema, roundLimit)) await judge(deps, ref);
}

function mayBeDue({ disabled, recovered, failingSince, notices, noticedAt }: EndedSend, now: number): boolean {
  if (disabled || (recovered && notices > 0)) return true;
  if (!failingSince) return false;
  const sinceMs = (moment: Date): number => now - moment.getTime();
  return (
    dueStep(notices, sinceMs(failingSince), noticedAt ? sinceMs(noticedAt) : Number.POSITIVE_INFINITY) !== undefined
  );
}

/** @param version Of the endpoint, by which it is judged; undefined where it is not by an attempt. */
async function judge({ ledger, log, metrics }: HealthDependencies, ref: HealthRef, version?: number): Promise<void> {
  const { tenant, endpoint } = ref;
  const named = { ...(tenant === '' ? {} : { tenant }), endpoint };
  try {
    const step = await ledger.database.transaction((_tx, sql) => takeStep(sql, ledger.schema, ref, version), limits());
    if (step?.step === 'notice') {
      log.warn({ ...named, since: step.since, notice: step.notice, code: 'endpoint_failing' }, 'endpoint.failing');
    } else if (step?.step === 'disable') {
      metrics?.endpointsDisabled.inc({ code: 'endpoint_failing' });
      log.warn({ ...named, since: step.since, code: 'endpoint_failing' }, 'endpoint.disabled');
    } else if (step?.step === 'tell_recovered') {
      log.info(named, 'endpoint.recovered');
    }
  } catch (error) {
    log.warn({ ...named, reason: (error as Error).message }, 'endpoint.health_unjudged');
  }
}

/** Under the lock of the endpoint's row: what is due is done, and told. */
async function takeStep(
  sql: Sql,
  schema: SchemaName,
  ref: HealthRef,
  version: number | undefined,
): Promise<HealthStep | undefined> {
  const health = await lockHealth(sql, schema, ref);
  if (version !== undefined && health?.version !== version) return undefined;
  const step = health && healthStep(health);
  if (!step) return undefined;
  const disabledBecause =
    step.step === 'disable' ? `Every attempt has failed since ${step.since.toISOString()}.` : undefined;
  await noteHealth(sql, schema, ref, {
    notices: noticesAfter(step, health),
    ...(disabledBecause === undefined ? {} : { disabledBecause }),
  });
  await recordPublications(sql, schema, endpointEvent({ ...ref, ...eventOf(step, health, disabledBecause) }));
  return step;
}

function noticesAfter(step: HealthStep, { notices }: EndpointHealth): number {
  if (step.step === 'tell_recovered') return 0;
  return step.step === 'tell_gone' ? notices : step.notice;
}

function eventOf(
  step: HealthStep,
  { description, stateAt }: EndpointHealth,
  disabledBecause: string | undefined,
): Omit<EndpointEvent, 'tenant' | 'endpoint'> {
  const at = new Date();
  switch (step.step) {
    case 'notice': {
      const { since, notice } = step;
      const disabledAfter = new Date(since.getTime() + (failingSteps.at(-1)?.afterMs ?? 0)).toISOString();
      const data = { description, failingSince: since.toISOString(), notice, disabledAfter };
      return { type: 'endpoint.failing', occasion: `${since.getTime()}:${notice}`, at, data };
    }
    case 'disable': {
      const { since, notice } = step;
      const data = {
        description,
        code: 'endpoint_failing',
        reason: disabledBecause,
        failingSince: since.toISOString(),
      };
      return { type: 'endpoint.disabled', occasion: `${since.getTime()}:${notice}`, at, data };
    }
    case 'tell_gone': {
      const data = { description, code: 'endpoint_gone', reason: 'It answered 410.' };
      return { type: 'endpoint.disabled', occasion: `${stateAt.getTime()}:1`, at: stateAt, data };
    }
    case 'tell_recovered': {
      const { noticedAt = at, notices } = step;
      return { type: 'endpoint.recovered', occasion: `${noticedAt.getTime()}:${notices}`, at, data: { description } };
    }
  }
}

function limits(): TransactionLimits {
  return {
    statementTimeoutMs: limitMs,
    lockTimeoutMs: limitMs,
    idleTimeoutMs: limitMs,
    signal: AbortSignal.timeout(limitMs),
  };
}
