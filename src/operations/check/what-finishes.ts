import type { Effect, ExternalEffect } from '../../effects/effect.js';
import type { Recovery } from '../../effects/recovery.js';
import { durationInWords } from './duration-in-words.js';

/**
 * Answers, for one effect, the question that every design of this kind has to answer: if this was recorded and then
 * crashed, what finishes the work?
 *
 * @returns One sentence per step, in their order; none where nothing does.
 */
export function whatFinishes(effect: Effect): readonly string[] {
  const isSingle = effect.policy.maximumAttempts === 1;
  if (effect.kind === 'local') return isSingle ? [...localWrite, spentLocal] : localWrite;
  const steps = stepsOf(effect);
  if (steps.length === 0) return [];
  return [
    claimed(effect),
    ...(effect.commit === undefined ? [] : [commitMissing]),
    ...steps,
    ...(isSingle && effect.recovery.kind === 'forwardsKey' ? [spentExternal] : []),
  ];
}

const localWrite = [
  'Claim, write and completion are one transaction: the crash left nothing of it, or all of it.',
  "Temporal's next attempt writes, or finds the completion.",
] as const;

const commitMissing = 'Where the call is known to have succeeded, only `commit` and the completion are made up for.';

const spentLocal =
  'The crash may have spent the single attempt: then the event is a dead letter, and a redelivery or `onefold replay` makes the next one.';

const spentExternal =
  'The crash has spent the single attempt: the event is a dead letter, and a redelivery or `onefold replay` makes the next one.';

/** Nobody asks the recipient then, since asking takes an attempt. */
const spentInDoubt = 'The crash has spent the single attempt: when the lease is over it is parked';

/** What stands in the ledger when the worker is gone, and from when on another attempt may act on it. */
function claimed({ leaseMs, heartbeatMs }: ExternalEffect): string {
  const lease = durationInWords(leaseMs);
  const ends = heartbeatMs === undefined ? `within ${lease}` : `${lease} after the last heartbeat`;
  return `The claim was committed before the call; its lease ends ${ends}.`;
}

function stepsOf(effect: ExternalEffect): readonly string[] {
  const { parkedAtMostMs } = effect;
  // A configuration that was built with another version of the package may lack what this one demands.
  const recovery = effect.recovery as Recovery | undefined;
  const person = `a person says what happened by \`onefold resolve\`, within ${durationInWords(parkedAtMostMs)}, else the event is a dead letter`;
  switch (recovery?.kind) {
    case 'forwardsKey': {
      const validFor = durationInWords(recovery.validForMs);
      const same = `Temporal's next attempt sends the same request under the same key, which the recipient carries out once: for ${validFor} from the first claim, less its timeout.`;
      return 'ask' in recovery
        ? [same, 'Later it asks the recipient first.', ...asked(recovery.settleAfterMs, askedInVain)]
        : [same, `Later it is parked: ${person}.`];
    }
    case 'reconcile':
      if (effect.policy.maximumAttempts === 1) return [`${spentInDoubt}: ${person}.`];
      return ["Temporal's next attempt asks the recipient.", ...asked(recovery.settleAfterMs, `parked: ${person}`)];
    case 'park':
      if (effect.policy.maximumAttempts === 1) return [`${spentInDoubt}: ${person}.`];
      return [`Temporal's next attempt parks it: ${person}.`];
    default:
      return [];
  }
}

const askedInVain = 'the event is a dead letter, and a redelivery or `onefold replay` asks again';

/** @param inVain What it comes to when the budget is spent and the recipient still cannot tell. */
function asked(settleAfterMs: number, inVain: string): readonly string[] {
  return [
    'Done: completed with that result.',
    `Absent, believed ${durationInWords(settleAfterMs)} after the lease: performed.`,
    `Unknown: asked again within the budget, then ${inVain}.`,
  ];
}
