import type { RecordedEffect } from '../ledger/read-plan.js';
import { sha256 } from '../runtime/sha256.js';
import type { ExternalPlan, PlannedEffect } from '../workflows/contract.js';
import { ledgerName } from './catalogue.js';
import type { Effect, ExternalEffect } from './effect.js';
import { travellingResult } from './travelling-result.js';

/** Longer attempts run as regular activities from the first: a local one would hold its workflow task open. */
const localAttemptLimitMs = 60_000;

/**
 * SQL visibility stores keywords of at most 255 characters, and ten keys together must stay below the 2,048 bytes of a
 * search attribute. Bytes of the key's JSON text, since that is what the server measures and a control character has six.
 */
const indexedKeyBytes = 128;
/** In characters of at most six bytes. */
const indexedPrefix = 30;

/** An effect and what it is about for one event. */
export interface EffectKey {
  readonly effect: Effect;
  readonly businessKey: string;
}

/** Whether it only looks. */
export function isObserved({ effect }: EffectKey): boolean {
  return effect.mode === 'observe';
}

/** By the name that the ledger goes by. */
export function ledgerKey({ effect, businessKey: key }: EffectKey): {
  readonly effect: string;
  readonly businessKey: string;
} {
  return { effect: ledgerName(effect), businessKey: key };
}

/** An effect as its event has it from now on. One that only looks has ended. */
export function firstPlan(key: EffectKey): PlannedEffect {
  const planned = plannedEffect(key);
  if (!isObserved(key)) return planned;
  const { effect, businessKey: observed } = planned;
  return { ...planned, ended: { effect, businessKey: observed, outcome: 'observed', attempts: 0 } };
}

/** How the workflow is to carry an effect. */
function plannedEffect({ effect, businessKey: key }: EffectKey): PlannedEffect {
  return {
    effect: effect.name,
    businessKey: key,
    indexedKey: indexedKey(key),
    policy: effect.policy,
    // An attempt that reaches outside and vanishes has to stand in the history, which a local one would not.
    localFirst: effect.kind === 'local' && effect.policy.timeoutMs <= localAttemptLimitMs,
    ...(effect.kind === 'external' ? { external: externalPlan(effect) } : {}),
  };
}

/** Below this a busy worker would count as dead. */
const leastHeartbeatTimeoutMs = 3000;

function externalPlan({ recovery, parkedAtMostMs, heartbeatMs, leaseMs }: ExternalEffect): ExternalPlan {
  return {
    recovery: recovery.kind,
    parkedAtMostMs,
    ...(heartbeatMs === undefined ? {} : { heartbeatTimeoutMs: Math.max(leastHeartbeatTimeoutMs, leaseMs) }),
  };
}

/** Long keys are cut for search attributes, whose values are limited, and told apart by a hash. */
function indexedKey(key: string): string {
  if (Buffer.byteLength(JSON.stringify(key)) <= indexedKeyBytes) return key;
  return `${[...key].slice(0, indexedPrefix).join('')}~${sha256(key).slice(0, 16)}`;
}

/** An effect that ended in an earlier run is not run again: the ledger answers `already_done`. */
export function recordedPlan(effect: Effect, recorded: RecordedEffect, effects: number): PlannedEffect {
  const planned = plannedEffect({ effect, businessKey: recorded.businessKey });
  if (!recorded.ended) return planned;
  const { outcome, result, ...end } = recorded.ended;
  return {
    ...planned,
    ended: {
      effect: effect.name,
      businessKey: recorded.businessKey,
      outcome: outcome === 'done' ? 'already_done' : outcome,
      attempts: 0,
      ...end,
      ...(result ? { result: travellingResult(result, effects) } : {}),
    },
  };
}
