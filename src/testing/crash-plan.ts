import { AssertionError } from 'node:assert';
import { type AttemptAtStep, type AttemptStep, AttemptVanished } from '../effects/attempt-steps.js';
import type { Effect } from '../effects/effect.js';
import type { Journal } from './journal.js';
import { crashStep } from './watch-effect.js';

/** Where an attempt is to die. */
export interface CrashPoint {
  readonly at: AttemptStep;
  /** Only an attempt with this number, counted from 1. Default: the next one that comes to the step. */
  readonly attempt?: number;
  /** Only under this business key. Default: any. */
  readonly businessKey?: string;
  /** How many attempts die there. Default 1. */
  readonly times?: number;
}

/** The crashes that a test has asked for and that have not happened yet. */
export interface CrashPlan {
  /** @throws {TypeError} For a step that the effect does not have. */
  add(effect: Effect, point: CrashPoint): void;
  /** @throws {AttemptVanished} Where the attempt at the step is to die. */
  strike(step: AttemptStep, attempt: AttemptAtStep): void;
  /** @throws {AssertionError} Where a crash has not happened: the test did not test what it says. */
  assertSpent(): void;
}

interface Armed extends CrashPoint {
  readonly effect: string;
  /** As the effect tells it, which may be another one than asked for. */
  readonly step: AttemptStep;
  left: number;
}

/** Makes an empty plan. */
export function createCrashPlan(journal: Journal): CrashPlan {
  const armed: Armed[] = [];
  return {
    add(effect, point) {
      armed.push({ ...point, effect: effect.name, step: crashStep(effect, point.at), left: point.times ?? 1 });
    },
    strike(step, attempt) {
      const found = armed.find(
        (one) =>
          one.left > 0 &&
          one.effect === attempt.effect &&
          one.step === step &&
          (one.attempt ?? attempt.attempt) === attempt.attempt &&
          (one.businessKey ?? attempt.businessKey) === attempt.businessKey,
      );
      if (!found) return;
      found.left -= 1;
      journal.log.info({ ...attempt, step: found.at }, 'test.crash');
      throw new AttemptVanished(step);
    },
    assertSpent() {
      const unspent = armed.filter(({ left }) => left > 0);
      if (unspent.length === 0) return;
      const list = unspent.map(({ effect, at }) => `${effect} ${at}`).join(', ');
      throw new AssertionError({ message: `a crash was asked for and never happened: ${list}` });
    },
  };
}
