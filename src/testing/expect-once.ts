import { AssertionError } from 'node:assert';
import { ledgerNames } from '../effects/catalogue.js';
import type { Effect } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import { readClaim } from '../ledger/read-claim.js';
import type { Journal } from './journal.js';
import type { EffectCall } from './watch-effect.js';

/** How often the effect took hold, by whoever can count it: rows of your tables, effects of the recipient. */
export type Counted = number | (() => number | Promise<number>);

/** What is asserted about. */
export interface OnceSubject {
  readonly ledger: Ledger;
  readonly effect: Effect;
  readonly tenant: string;
  readonly businessKey: string;
  readonly calls: readonly EffectCall[];
  readonly journal: Journal;
}

/**
 * Asserts that an effect is done under a business key, and that whoever counts it has counted one.
 *
 * @throws {AssertionError} Which tells every attempt that there was.
 */
export async function expectOnce(subject: OnceSubject, counted: Counted | undefined): Promise<void> {
  const { ledger, effect, tenant, businessKey } = subject;
  const named = `'${effect.name}' under ${JSON.stringify(businessKey)}`;
  const claim = await readClaim(ledger.database.query, ledger.schema, {
    tenant,
    names: ledgerNames(effect),
    businessKey,
  });
  if (claim?.state !== 'done') {
    const state = claim ? `the ledger has it as ${claim.state}` : 'the ledger has never heard of it';
    throw failure(`${named} is not done: ${state}`, subject, { expected: 'done', actual: claim?.state });
  }
  if (counted === undefined) return;
  const count = typeof counted === 'function' ? await counted() : counted;
  if (count === 1) return;
  throw failure(`${named} took hold ${count} times instead of once`, subject, { expected: 1, actual: count });
}

function failure(
  what: string,
  { calls, journal, effect, businessKey }: OnceSubject,
  compared: { readonly expected: unknown; readonly actual: unknown },
): AssertionError {
  const made = calls.map(
    ({ event, attempt, idempotencyKey }) =>
      `  called for ${event}, attempt ${attempt}${idempotencyKey === undefined ? '' : `, with ${idempotencyKey}`}`,
  );
  const story = journal.storyOf({ effect: effect.name, businessKey });
  return new AssertionError({ message: [`${what}.`, ...made, story].join('\n'), operator: 'expectOnce', ...compared });
}
