import { ledgerName } from '../../effects/catalogue.js';
import type { Effect, ExternalEffect } from '../../effects/effect.js';
import { checkLeaseAgainstGrace, leaseOf } from '../../effects/lease.js';
import { type Budget, describeBudget } from './describe-budget.js';
import { durationInWords } from './duration-in-words.js';
import { type Finding, type FindingId, finding } from './finding.js';
import { keyInWords } from './key-in-words.js';
import { whatFinishes } from './what-finishes.js';

/** What was learnt of one effect. */
export interface CheckedEffect {
  readonly name: string;
  readonly source: string;
  readonly on: readonly string[];
  readonly kind: 'local' | 'external';
  readonly businessIdentity: {
    /** The name that the ledger keys by, which is the oldest. */
    readonly effect: string;
    readonly formerly: readonly string[];
    /** The key function as it is written. */
    readonly key: string;
  };
  readonly budget: Budget;
  readonly timeoutMs: number;
  /** Whether an older state that arrives late does nothing. */
  readonly supersedes: boolean;
  /** External only. */
  readonly leaseMs?: number;
  readonly heartbeatMs?: number;
  readonly recovery?: CheckedRecovery;
  /** If this was recorded and then crashed, what finishes the work? Its steps in order; none where nothing does. */
  readonly whatFinishes: readonly string[];
}

/** The declared recovery of an external effect. */
export interface CheckedRecovery {
  readonly kind: 'forwardsKey' | 'reconcile' | 'park';
  readonly validForMs?: number;
  readonly settleAfterMs?: number;
  /** Whether the recipient can be asked. */
  readonly asks: boolean;
  readonly parkedAtMostMs: number;
}

/**
 * Describes an effect and judges its numbers against each other.
 *
 * @param graceMs How long a stopping worker lets attempts run on, ms.
 */
export function checkEffect(
  effect: Effect,
  graceMs: number,
): { readonly effect: CheckedEffect; readonly findings: readonly Finding[] } {
  const { name, source, on, kind, policy, formerly } = effect;
  const place = `effect '${name}'`;
  const found = (id: FindingId, message: string, remedy: string): Finding => finding(id, { place, message, remedy });
  // A vanished attempt holds the next one back until its lease is over, not only until its timeout.
  const attemptMs = effect.kind === 'external' ? Math.max(policy.timeoutMs, effect.leaseMs) : policy.timeoutMs;
  const budget = describeBudget(policy, attemptMs);
  const findings: Finding[] = [];
  if (effect.mode === 'observe') {
    const remedy = 'leave `mode` out when it is to do its work; what it observed until then only a replay runs';
    findings.push(found('effect_observes', 'its mode is observe: it logs what it would do, and does nothing', remedy));
  }
  if (policy.maximumAttempts === 1) findings.push(found('single_attempt', ...singleAttempt(effect)));
  if (effect.kind === 'external') findings.push(...checkExternal(effect, budget, graceMs, found));
  return {
    effect: {
      name,
      source,
      on,
      kind,
      businessIdentity: { effect: ledgerName(effect), formerly, key: keyInWords(effect) },
      budget,
      timeoutMs: policy.timeoutMs,
      supersedes: effect.supersede !== undefined,
      ...(effect.kind === 'external' ? external(effect) : {}),
      whatFinishes: whatFinishes(effect),
    },
    findings,
  };
}

/** @returns What a dead worker makes of it, and the remedy. */
function singleAttempt(effect: Effect): [message: string, remedy: string] {
  const spent = 'it has a single attempt, which a worker that dies during it may spend:';
  const recovery = effect.kind === 'external' ? (effect.recovery as ExternalEffect['recovery'] | undefined) : undefined;
  switch (recovery?.kind) {
    case 'reconcile':
      return [
        `${spent} where a call may have been made it is then parked for a person, and the recipient is not asked; else the event is a dead letter`,
        'give `retry.maximumAttempts` at least 2, so that the recipient is asked',
      ];
    case 'park':
      return [
        `${spent} where a call may have been made it is then parked for a person; else the event is a dead letter`,
        'give `retry.maximumAttempts` at least 2, or be ready to replay',
      ];
    default:
      return [
        `${spent} the event is then a dead letter`,
        'give `retry.maximumAttempts` at least 2, or be ready to replay',
      ];
  }
}

function external(effect: ExternalEffect): Pick<CheckedEffect, 'leaseMs' | 'heartbeatMs' | 'recovery'> {
  const { leaseMs, heartbeatMs, parkedAtMostMs } = effect;
  const recovery = effect.recovery as ExternalEffect['recovery'] | undefined;
  return {
    leaseMs,
    ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
    ...(recovery === undefined
      ? {}
      : {
          recovery: {
            kind: recovery.kind,
            ...('validForMs' in recovery ? { validForMs: recovery.validForMs } : {}),
            ...('settleAfterMs' in recovery ? { settleAfterMs: recovery.settleAfterMs } : {}),
            asks: 'ask' in recovery,
            parkedAtMostMs,
          },
        }),
  };
}

function* checkExternal(
  effect: ExternalEffect,
  budget: Budget,
  graceMs: number,
  found: (id: FindingId, message: string, remedy: string) => Finding,
): Iterable<Finding> {
  const { policy, leaseMs, heartbeatMs } = effect;
  if (whatFinishes(effect).length === 0) {
    // What makes effects refuses it; a configuration built with another version of the package may hold one all the same.
    yield found(
      'recovery_missing',
      'nothing finishes the work when an attempt ends without telling whether it took hold',
      'declare `recovery`: forwardsKey({ validFor }), reconcile(…) or park()',
    );
  }
  const recovery = effect.recovery as ExternalEffect['recovery'] | undefined;
  if (recovery?.kind === 'forwardsKey' && !('ask' in recovery)) {
    const reachMs = Math.min(policy.maximumElapsedMs, budget.longestMs) + policy.timeoutMs;
    if (reachMs > recovery.validForMs) {
      const validFor = durationInWords(recovery.validForMs);
      yield found(
        'key_outlived',
        `its attempts may go on for ${durationInWords(reachMs)}, and the recipient remembers the key for ${validFor}; an outcome that is unknown later can only be parked for a person`,
        `shorten \`retry\`${enoughElapsed(recovery.validForMs - policy.timeoutMs)}, or give forwardsKey a \`reconcile\` that asks the recipient`,
      );
    }
  }
  const heartbeat = heartbeatMs === undefined ? {} : { heartbeat: heartbeatMs };
  const lease = refusal(() => leaseOf({ lease: leaseMs, ...heartbeat }, policy.timeoutMs, 'it'));
  if (lease !== undefined) {
    yield found(
      'lease_too_short',
      lease.replace(/^it\./, 'its '),
      'raise `lease`, or leave it out: the default fits the timeout',
    );
  } else if (refusal(() => checkLeaseAgainstGrace(effect, graceMs)) !== undefined) {
    yield found(
      'lease_within_grace',
      `its lease of ${durationInWords(leaseMs)} is not longer than the ${durationInWords(graceMs)} that a stopping worker lets attempts run on`,
      'raise `lease`, or run the workers with a shorter `--grace`, and name that here too',
    );
  }
}

/** The value of `maximumElapsed` that a key outlives, where there is one. */
function enoughElapsed(ms: number): string {
  const [step, unit] = ms >= 7_200_000 ? [3_600_000, 'h'] : ms >= 120_000 ? [60_000, 'm'] : [1000, 's'];
  const whole = Math.floor(ms / step);
  return whole < 1 ? '' : ` (\`maximumElapsed: '${whole}${unit}'\` is enough)`;
}

function refusal(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
