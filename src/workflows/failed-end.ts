import { cutText } from '../identity/cut-text.js';
import type { EffectEnd, EffectProgress } from './contract.js';

/** The end of an effect that is given up. */
export function failedEnd({ planned, attempts }: EffectProgress, code: string, message: string): EffectEnd {
  return {
    effect: planned.effect,
    businessKey: planned.businessKey,
    outcome: 'failed',
    attempts,
    code,
    message: cutText(message, 600),
  };
}
