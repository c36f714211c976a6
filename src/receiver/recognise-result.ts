import type { EffectEnd, EventOutcome, ProcessEventResult, StoredResult } from '../workflows/contract.js';

const outcomes: ReadonlySet<unknown> = new Set<EventOutcome>([
  'done',
  'already_done',
  'stale',
  'observed',
  'abandoned',
]);

/**
 * Recognises a workflow's result as one of ours, or returns undefined: a run may have been completed by hand, or by a
 * version to come, and what it then says of the effects is worth nothing.
 */
export function recogniseResult(result: unknown): ProcessEventResult | undefined {
  if (!isObject(result) || result.version !== 1 || typeof result.event !== 'string') return undefined;
  if (!outcomes.has(result.outcome) || !Array.isArray(result.effects)) return undefined;
  return result.effects.every(isEffectEnd) ? (result as unknown as ProcessEventResult) : undefined;
}

function isEffectEnd(end: unknown): end is EffectEnd {
  if (!isObject(end) || typeof end.effect !== 'string' || typeof end.outcome !== 'string') return false;
  if (end.businessKey !== undefined && typeof end.businessKey !== 'string') return false;
  return end.result === undefined || isStoredResult(end.result);
}

function isStoredResult(result: unknown): result is StoredResult {
  if (!isObject(result)) return false;
  return result.stored === true || (typeof result.json === 'string' && isJson(result.json));
}

/** It is put into answers as it stands, so it must be what it says. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
