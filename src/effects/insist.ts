import { setTimeout as sleep } from 'node:timers/promises';
import { classifyFailure } from './classify-failure.js';

const everyMs = 250;

/** Codes of a PostgreSQL that is away, or asks to be tried again. */
const passing: ReadonlySet<string> = new Set(['ledger_unavailable', 'database_transient']);

/** Whether an earlier try took hold although its answer was lost; asked where a later one finds nothing to change. */
type TookHold = () => Promise<boolean>;

/**
 * Does a statement of an attempt that changes its own claim, and does it again while PostgreSQL is away for a moment.
 *
 * @returns False where the claim is another attempt's by now.
 */
export async function insistOn(until: number, write: () => Promise<boolean>, tookHold: TookHold): Promise<boolean> {
  let tries = 0;
  return insist(until, async () => {
    tries += 1;
    return (await write()) || (tries > 1 && (await tookHold()));
  });
}

/**
 * Does a statement again while PostgreSQL is away for a moment: what an attempt knows of its outcome is worth the rest of
 * its time, since without it the next one has to find it out.
 *
 * @param until Unix ms.
 * @throws the last error, when the time is over or the error is of another kind.
 */
export async function insist<Result>(until: number, statement: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await statement();
    } catch (error) {
      if (!passing.has(classifyFailure(error, []).code) || Date.now() + everyMs > until) throw error;
    }
    await sleep(everyMs);
  }
}
