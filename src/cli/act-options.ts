import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { configOption } from './config-option.js';

/** Options of every act. */
export interface ActFlags {
  readonly config?: string;
  readonly reason: string;
  readonly by?: string;
  readonly tenant?: string;
  readonly act?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/**
 * Adds the options of an act.
 *
 * @param tenant What `--tenant` names.
 * @param asks Whether the command asks before it acts; where it does not, `--yes` is taken all the same, for scripts.
 */
export function withActOptions(command: Command, tenant: string, asks: boolean): Command {
  return command
    .requiredOption('--reason <text>', 'why; recorded')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--tenant <name>', tenant)
    .option('--act <id>', 'identity of this wish: repeating a command with the same one is harmless')
    .option('--dry-run', 'show what would be done and change nothing')
    .option('--yes', asks ? 'do not ask' : 'nothing is asked; for scripts that give it to every act')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption);
}

/** Reads who acts, and why. */
export function actOf({ by, reason, act }: ActFlags): {
  readonly by: string;
  readonly reason: string;
  readonly id?: string;
} {
  return { by: by ?? userInfo().username, reason, ...(act === undefined ? {} : { id: act }) };
}

/** Reads the tenant, where one was given. */
export function tenantOf({ tenant }: { readonly tenant?: string }): { readonly tenant?: string } {
  return tenant === undefined ? {} : { tenant };
}

/** Prints an outcome: as JSON where that was asked for, else in words. */
export function printOutcome<Outcome>(
  { json }: { readonly json?: boolean },
  outcome: Outcome,
  inWords: (outcome: Outcome) => string,
): void {
  process.stdout.write(json ? `${JSON.stringify(outcome)}\n` : inWords(outcome));
}
