import { OnefoldError } from '../errors.js';

/** Why an act that was begun could not be carried out to its end. */
export interface Interruption {
  readonly code: string;
  readonly message: string;
}

/** Puts what ended it, in the words of operations already, into an answer. */
export function interruption(failure: unknown): Interruption {
  return {
    code: failure instanceof OnefoldError ? failure.code : 'internal_error',
    message: failure instanceof Error ? failure.message : typeof failure,
  };
}
