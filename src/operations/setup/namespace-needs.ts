import type { Catalogue } from '../../effects/catalogue.js';

type Source = Catalogue['sources'][number];

/**
 * The sweeper looks every ten minutes for events that were closed from outside, and again at the last five. An hour lets
 * it come late several times, and workers be away for a deploy.
 */
export const sweepNeedsMs = 3_600_000;

/** Where a sensible namespace stands: above what most providers redeliver for. */
const usualMs = 7 * 24 * 3_600_000;

/** What a source's provider may send again, and for how long. */
export interface RedeliveryWindow {
  readonly source: string;
  readonly provider: string;
  /** ms; 0 where it never does. */
  readonly windowMs: number;
  /** It delivers so late only where somebody asks it to. */
  readonly byHand: boolean;
}

/** How long each source's provider may deliver an event again, by itself or by hand. */
export function redeliveryWindows(sources: readonly Source[]): readonly RedeliveryWindow[] {
  return sources.map(({ name, preset: { provider, facts } }) => {
    const { redeliveryWindowMs = 0, manualRedeliveryWindowMs = 0 } = facts;
    const windowMs = Math.max(redeliveryWindowMs, manualRedeliveryWindowMs);
    return { source: name, provider, windowMs, byHand: windowMs > redeliveryWindowMs };
  });
}

/** The retention that a new namespace gets where nobody says, ms: seven days, or the longest redelivery window. */
export function recommendedRetentionMs(sources: readonly Source[]): number {
  return Math.max(usualMs, ...redeliveryWindows(sources).map(({ windowMs }) => windowMs));
}
