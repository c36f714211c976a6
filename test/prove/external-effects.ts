/** The recoveries that an external effect can declare, each proven by an effect of its own. */
export const recoveries = ['forwardsKey', 'reconcile', 'park'] as const;

export type RecoveryKind = (typeof recoveries)[number];

/** Names of the effects. */
export const externalEffectNames: Readonly<Record<RecoveryKind, string>> = {
  forwardsKey: 'book-by-key',
  reconcile: 'book-and-ask',
  park: 'book-or-park',
};

/** The type of events that cause the effect; of those without one, 'order.paid'. */
export const typeFor = (recovery: RecoveryKind | undefined) =>
  recovery === undefined ? 'order.paid' : (`order.${recovery}` as const);

/** What the partner knows a fulfilment by. */
export const bookingKey = (fulfilment: string): string => `booking:${fulfilment}`;

/** In this variable the processes of the application find where the partners are. */
export const partnersVariable = 'ONEFOLD_PROOF_PARTNERS';

/** Longest that a frozen worker sleeps, ms: a call that was on its way when it froze leaves no later. */
export const frozenMs = 12_000;

/** Longest attempt at a call, ms. */
export const callTimeoutMs = 5000;

/** Longest that a partner takes to act after it was called, ms: it outlasts the attempt. */
export const latestActMs = 6000;
