import { errorChain } from './error-chain.js';
import { readVerdict } from './errors.js';
import { carriedStatuses } from './http-status.js';
import { sentNothing } from './sent-nothing.js';

/** Of 4xx, those that do not say that the request was refused: too slow, in conflict with another attempt, too early, too many. */
const doubtfulRefusals: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** Promises that fail together hold few errors, and seldom one within another; what is more is not read. */
const mostMembers = 64;
const deepestNesting = 2;

/**
 * Judges whether a thrown error proves that its attempt did nothing. Anything that is not certain is no proof: a wrong
 * "no" costs a recovery, a wrong "yes" does the effect twice. In this order:
 *
 * 1. The error's own word: `NotDoneError`, `PermanentError` and `NotYetError` prove it, `OutcomeUnknownError` does not.
 * 2. `own`, where it answers with a boolean. One that throws has not answered.
 * 3. The error, its causes, and all members of an `AggregateError`: a 4xx other than 408, 409, 425 and 429, or a failure
 *    before anything was sent (connect, DNS, the server's certificate). Where they say two things, the doubt counts.
 *
 * Useful within an effect's own `provesNothingDone` too, to hand over the error that a client has wrapped. Never throws.
 *
 * @param thrown What `perform` threw.
 * @param own The effect's own judgement.
 */
export function provesNothingDone(thrown: unknown, own?: (error: unknown) => boolean | undefined): boolean {
  try {
    const verdict = readVerdict(thrown);
    if (verdict) return verdict.code !== 'outcome_unknown';
    return askOwn(thrown, own) ?? isProof(thrown, 0);
  } catch {
    // A getter or proxy of a stranger's error threw: what cannot be read proves nothing.
    return false;
  }
}

/** Whether the user said that the recipient answered for the idempotency key as a whole. */
export function settlesKey(thrown: unknown): boolean {
  try {
    return readVerdict(thrown)?.settlesKey === true;
  } catch {
    return false;
  }
}

function askOwn(thrown: unknown, own: ((error: unknown) => boolean | undefined) | undefined): boolean | undefined {
  try {
    const answer = own?.(thrown);
    return typeof answer === 'boolean' ? answer : undefined;
  } catch {
    return undefined;
  }
}

function isProof(thrown: unknown, nesting: number): boolean {
  const evidence = errorChain(thrown)?.flatMap((error) => evidenceOf(error, nesting)) ?? [];
  return evidence.length > 0 && evidence.every(Boolean);
}

/** What one error says, its causes left out: true for a proof, false against it. */
function evidenceOf(error: object, nesting: number): boolean[] {
  // One of ours, met here, is the failure of a part that may have been called after the recipient.
  if (readVerdict(error)?.code === 'outcome_unknown' || (error as { name?: unknown }).name === 'OnefoldError') {
    return [false];
  }
  const statuses = carriedStatuses(error).map(
    ({ status, redirected }) => status >= 400 && status <= 499 && !doubtfulRefusals.has(status) && !redirected,
  );
  if (error instanceof AggregateError) return [...statuses, allAreProof(error.errors, nesting + 1)];
  const network = sentNothing(error);
  return network === undefined ? statuses : [...statuses, network];
}

function allAreProof(errors: readonly unknown[], nesting: number): boolean {
  return (
    nesting <= deepestNesting &&
    errors.length > 0 &&
    errors.length <= mostMembers &&
    errors.every((error) => isProof(error, nesting))
  );
}
