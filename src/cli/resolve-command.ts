import { userInfo } from 'node:os';
import { Command, Option } from 'commander';
import { OnefoldError } from '../errors.js';
import type { ResolveAct, ResolveOutcome, ResolveVerdict } from '../operations/resolve-effect.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { lookFirst } from './look-first.js';

interface ResolveFlags {
  readonly config?: string;
  readonly done?: string;
  readonly absent?: boolean;
  readonly reason: string;
  readonly by?: string;
  readonly tenant?: string;
  readonly act?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `onefold resolve` */
export function resolveCommand(): Command {
  return new Command('resolve')
    .description(
      'Say what became of an effect whose outcome is unknown, after a look at its recipient. ' +
        'Shows the business state first and asks; then every event that waits for it goes on.',
    )
    .argument('<effect>', 'its name')
    .argument('<business-key>', 'as the dead letter, the log and the Web UI have it')
    .addOption(
      new Option('--done <json>', 'it happened; what its call would have returned, or null').conflicts('absent'),
    )
    .option('--absent', 'it did not happen, and cannot any more: it is performed anew')
    .requiredOption('--reason <text>', 'how you know; recorded')
    .option('--by <name>', 'who says so; recorded (default: the user of this process)')
    .option('--tenant <name>', 'tenant of the effect')
    .option('--act <id>', 'identity of this act: repeating a command with the same one is harmless')
    .option('--dry-run', 'show what would be done and change nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .action(async (effect: string, businessKey: string, flags: ResolveFlags, command: Command) => {
      if (flags.done === undefined && !flags.absent) command.error("error: say --done '<json>' or --absent");
      const { resolveEffect } = await import('../operations/resolve-effect.js');
      const verdict = await verdictOf(flags);
      const named = { effect, businessKey, ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }) };
      const act: ResolveAct = {
        by: flags.by ?? userInfo().username,
        reason: flags.reason,
        ...(flags.act === undefined ? {} : { id: flags.act }),
      };
      await withActingContext('resolve', flags.config, async (context) => {
        const goOn = await lookFirst(flags, {
          look: () => resolveEffect(context, named, verdict, { ...act, dryRun: true }),
          describe,
          question: 'Is that so?',
          code: 'confirmation_missing',
        });
        if (!goOn) return;
        const outcome = await resolveEffect(context, named, verdict, act);
        process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : answer(outcome));
        if (!outcome.toldAll) process.exitCode = 1;
      });
    });
}

/** @throws {OnefoldError} `result_not_json` for a `--done` that is no JSON text. */
async function verdictOf({ done }: ResolveFlags): Promise<ResolveVerdict> {
  if (done === undefined) return { outcome: 'absent' };
  const { parseJson } = await import('../sources/parse-json.js');
  const parsed = parseJson(Buffer.from(done));
  if (!parsed.ok) {
    throw new OnefoldError('result_not_json', `--done takes JSON text, such as null or '{"id":"ch_1"}'`);
  }
  return { outcome: 'done', result: parsed.lossless() };
}

const consequences: Readonly<Record<ResolveOutcome['outcome'], string>> = {
  done: 'done: it counts as done, with the result given',
  performed: 'done: the next attempt writes its commit with the result given, and completes',
  absent: 'absent: the next attempt performs it, under a new idempotency key',
};

function describe({ effect, businessKey, seen, outcome }: ResolveOutcome): string {
  return (
    `${effect} ${businessKey}: ${seen.state}, last attempted for ${seen.event} at ${seen.attemptedAt}\n` +
    `  ${consequences[outcome]}\n`
  );
}

function answer({ effect, businessKey, outcome, waiting, toldAll, id }: ResolveOutcome): string {
  const told = waiting.map(({ event, action, because }) => `  ${action} ${event}${because ? `: ${because}` : ''}\n`);
  const rest = toldAll
    ? ''
    : `Not every event that waits could be told. Those that run look for themselves in time; for the rest, give the same command with --act ${id}.\n`;
  return `${effect} ${businessKey}: ${consequences[outcome]} (act ${id})\n${told.join('')}${rest}`;
}
