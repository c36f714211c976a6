import type { ErrorCode } from '../errors.js';
import { confirmed } from './confirmed.js';

/** How an act is shown before it is done, and asked for. */
export interface LookFirst<Seen> {
  /** What would be done; changes nothing. */
  look(): Promise<Seen>;
  describe(seen: Seen): string;
  readonly question: string;
  /** Of the refusal where nobody is there to ask. */
  readonly code: ErrorCode;
}

/**
 * Shows what an act would do, and asks. With `--dry-run` it is only shown, with `--yes` only done.
 *
 * @returns Whether to do it. A no sets the exit code 1.
 * @throws {OnefoldError} With the code, where nobody is there to ask.
 */
export async function lookFirst<Seen>(
  flags: { readonly dryRun?: boolean; readonly yes?: boolean; readonly json?: boolean },
  { look, describe, question, code }: LookFirst<Seen>,
): Promise<boolean> {
  if (flags.dryRun) {
    const seen = await look();
    process.stdout.write(flags.json ? `${JSON.stringify(seen)}\n` : describe(seen));
    return false;
  }
  if (flags.yes) return true;
  process.stderr.write(describe(await look()));
  if (await confirmed(question, code, 'add --yes, or --dry-run to look only')) return true;
  process.stderr.write('nothing was changed\n');
  process.exitCode = 1;
  return false;
}
