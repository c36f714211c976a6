import type { EndpointHealth } from '../ledger/endpoints-health/lock-health.js';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

/**
 * An endpoint that only fails is given up in steps, so that its owner hears of it long before: a notice after a day, another
 * after three, and after five days it is disabled. Standard Webhooks asks senders to do so, and to tell the owner.
 */
export const failingSteps = [
  { afterMs: dayMs, step: 'notice' },
  { afterMs: 3 * dayMs, step: 'notice' },
  { afterMs: 5 * dayMs, step: 'disable' },
] as const;

/**
 * At least this between two steps, ms. Health is judged when an attempt fails, and an endpoint that is rarely sent anything
 * may fail on the first day and again on the sixth: its owner still gets each notice, and a day to act on it.
 */
const betweenStepsMs = dayMs;

/** What is to be done about an endpoint's health, and its owner to be told. */
export type HealthStep =
  | { readonly step: 'notice'; readonly notice: number; readonly since: Date }
  | { readonly step: 'disable'; readonly notice: number; readonly since: Date }
  | { readonly step: 'tell_gone' }
  | { readonly step: 'tell_recovered'; readonly notices: number; readonly noticedAt: Date | undefined };

/** Says what is due. Asked only when an attempt has just failed, or when there is something to tell. */
export function healthStep(health: EndpointHealth): HealthStep | undefined {
  if (health.goneUntold) return { step: 'tell_gone' };
  const { failingSince, notices, noticedAt } = health;
  if (failingSince === undefined) {
    return notices > 0 ? { step: 'tell_recovered', notices, noticedAt } : undefined;
  }
  if (health.state !== 'enabled') return undefined;
  const step = dueStep(notices, health.failingMs, health.noticedMs);
  return step && { step, notice: notices + 1, since: failingSince };
}

/** The step that is due after so many notices. */
export function dueStep(notices: number, failingMs: number, noticedMs: number): 'notice' | 'disable' | undefined {
  const next = failingSteps[notices];
  if (!next || failingMs < next.afterMs || (notices > 0 && noticedMs < betweenStepsMs)) return undefined;
  return next.step;
}
