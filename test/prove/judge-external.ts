import type { ProofEvent } from './deliver.js';
import { bookingKey, type RecoveryKind, recoveries } from './external-effects.js';
import type { Partners } from './partners.js';

/** What a partner really did, held against what the accepted events asked for. */
export interface ExternalVerdict {
  readonly identities: number;
  /** Calls that reached the partner, whatever it made of them. */
  readonly calls: number;
  readonly lost: number;
  readonly double: number;
  /** Effects that no event asked for. */
  readonly stray: number;
}

/** Counts the effects that each partner has actually taken, by business identity. */
export function judgeExternal(
  partners: Partners,
  events: readonly ProofEvent[],
): Readonly<Record<RecoveryKind, ExternalVerdict>> {
  const verdicts = recoveries.map((kind) => {
    const partner = partners[kind];
    const asked = events.filter(({ recovery }) => recovery === kind).map(({ fulfilment }) => bookingKey(fulfilment));
    const wanted = new Set(asked);
    const counts = [...wanted].map((business) => partner.taken(business).length);
    return [
      kind,
      {
        identities: wanted.size,
        calls: [...wanted].reduce((sum, business) => sum + partner.calls(business), 0),
        lost: counts.filter((count) => count === 0).length,
        double: counts.filter((count) => count > 1).length,
        stray: partner.taken().filter(({ business }) => !wanted.has(business)).length,
      },
    ] as const;
  });
  return Object.fromEntries(verdicts) as Readonly<Record<RecoveryKind, ExternalVerdict>>;
}
