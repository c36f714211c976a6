import { type Behaviour, type Partner, startPartner } from '../faults/support/partner.js';
import { bookingKey, latestActMs, type RecoveryKind, recoveries } from './external-effects.js';
import type { Random } from './random.js';

/** One partner for each recovery. */
export type Partners = Readonly<Record<RecoveryKind, Partner>>;

/** So many business identities get a partner that misbehaves at first. */
const misbehavingPart = 0.3;

const misbehaviours: readonly (readonly [string, Behaviour])[] = [
  ['act, then drop the connection', { kind: 'drop', acts: true }],
  ['drop the connection', { kind: 'drop', acts: false }],
  ['act, then answer 500', { kind: 'answer', status: 500, acts: true }],
  ['answer 503', { kind: 'answer', status: 503, acts: false }],
  ['answer 422', { kind: 'answer', status: 422, acts: false }],
  ['act, then hang', { kind: 'hang', acts: true }],
  ['hang', { kind: 'hang', acts: false }],
  ['be late', { kind: 'delay', ms: 1500 }],
  ['act after the caller left', { kind: 'delay', ms: latestActMs }],
];

export async function startPartners(): Promise<Partners> {
  const started = await Promise.all(
    recoveries.map(async (kind) => [kind, await startPartner({ remembers: kind === 'forwardsKey' })] as const),
  );
  return Object.fromEntries(started) as unknown as Partners;
}

/** Tells the partners how to treat the first calls for each business identity. @returns What was told, counted. */
export function misbehave(
  partners: Partners,
  events: readonly { readonly fulfilment: string; readonly recovery: RecoveryKind | undefined }[],
  random: Random,
): Record<string, number> {
  const told: Record<string, number> = {};
  const recoveryOf = new Map(events.map(({ fulfilment, recovery }) => [fulfilment, recovery]));
  for (const [fulfilment, recovery] of recoveryOf) {
    if (recovery === undefined || random.next() >= misbehavingPart) continue;
    for (let call = random.whole(1, 2); call > 0; call--) {
      const [name, behaviour] = random.pick(misbehaviours);
      partners[recovery].tell(bookingKey(fulfilment), behaviour);
      told[name] = (told[name] ?? 0) + 1;
    }
    if (recovery === 'reconcile' && random.next() < 0.3) {
      partners.reconcile.keepQuiet(bookingKey(fulfilment), random.whole(1, 2));
      told['not know'] = (told['not know'] ?? 0) + 1;
    }
  }
  return told;
}
