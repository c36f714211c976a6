import { userInfo } from 'node:os';
import { Command } from 'commander';
import type { AdoptOutcome, RowNotAdopted } from '../operations/adopt/adopt.js';
import type { AdoptOptions, AdoptProgress } from '../operations/adopt/adopt-options.js';
import { type ActingContext, withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { lookFirst } from './look-first.js';
import { progressOn } from './progress-line.js';

interface AdoptFlags {
  readonly config?: string;
  readonly source: string;
  readonly effect: string;
  readonly sql: string;
  readonly from?: string;
  readonly tenant?: string;
  readonly reason: string;
  readonly by?: string;
  readonly act?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `onefold adopt` */
export function adoptCommand(): Command {
  return new Command('adopt')
    .description(
      'Bring in what an earlier system has done for an effect, from its claim table, so that redeliveries are no first runs. ' +
        'What the ledger has stands, so it may be repeated at any time. Shows first what it would come to and asks.',
    )
    .requiredOption('--source <name>', 'source of the events')
    .requiredOption('--effect <name>', 'the effect that was done')
    .requiredOption(
      '--sql <query>',
      'one row for each time that it was done: event_key, business_key, result, done_at, type, tenant; the first or the ' +
        'second at least. Runs in a transaction that can only read',
    )
    .option('--from <url>', 'PostgreSQL that the query runs on (default: that of the ledger, DATABASE_URL)')
    .option('--tenant <name>', 'tenant of all rows, where the query gives none')
    .requiredOption('--reason <text>', 'why; recorded')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--act <id>', 'identity of this act: repeating a command with the same one is harmless')
    .option('--dry-run', 'judge every row, show what would be done and change nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .action((flags: AdoptFlags) => withActingContext('adopt', flags.config, (context) => adoptRows(context, flags)));
}

async function adoptRows(context: ActingContext, flags: AdoptFlags): Promise<void> {
  const { adopt } = await import('../operations/adopt/adopt.js');
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  const { source, effect, sql, from, tenant } = flags;
  const options: AdoptOptions = {
    source,
    effect,
    sql,
    ...(from === undefined ? {} : { from }),
    ...(tenant === undefined ? {} : { tenant }),
    by: flags.by ?? userInfo().username,
    reason: flags.reason,
    ...(flags.act === undefined ? {} : { id: flags.act }),
    signal: stopping.signal,
  };
  const run = async (dryRun: boolean): Promise<AdoptOutcome> => {
    const begun = performance.now();
    const line = progressOn(process.stderr);
    try {
      return await adopt(context, {
        ...options,
        dryRun,
        onProgress: (now) => {
          const rate = Math.round((now.rows * 1000) / Math.max(1, performance.now() - begun));
          line.show(`${dryRun ? 'looking: ' : ''}${inWords(now)} (${rate} rows/s)`);
        },
      });
    } finally {
      line.close();
    }
  };
  try {
    await tellNotRun(context, flags);
    const goOn = await lookFirst(flags, {
      look: async () => {
        const seen = await run(true);
        if (isAmiss(seen)) process.exitCode = codeOf(seen);
        return seen;
      },
      describe: (seen) => `${describe(seen)}\n`,
      question: 'Adopt them?',
      code: 'confirmation_missing',
    });
    if (!goOn) return;
    process.exitCode = 0;
    const outcome = await run(false);
    process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : `${describe(outcome)} (act ${outcome.id})\n`);
    if (outcome.interrupted) process.stderr.write(`the same command with --act ${outcome.id} goes on from here\n`);
    if (isAmiss(outcome)) process.exitCode = codeOf(outcome);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  }
}

/** Says before anything is read which other effects the events of these rows will not run. */
async function tellNotRun({ catalogue }: ActingContext, flags: AdoptFlags): Promise<void> {
  const { effectsBeside } = await import('../operations/adopt/adopt-options.js');
  const own = catalogue.effect(flags.effect);
  const others = own?.source === flags.source ? effectsBeside(catalogue, own) : [];
  if (others.length === 0) return;
  process.stderr.write(
    `${others.join(', ')} act on the same types: a redelivery of an adopted event runs none of them. ` +
      'Adopt what they have done as well; onefold replay --effect runs one where it was not done.\n',
  );
}

function isAmiss({ conflicts, refused, interrupted }: AdoptOutcome): boolean {
  return conflicts > 0 || refused > 0 || interrupted !== undefined;
}

/** Of a process that was told to stop, what exit codes say of that. */
function codeOf({ interrupted }: AdoptOutcome): number {
  return interrupted?.code === 'stopped' ? 130 : 1;
}

function inWords({ rows, adopted, alreadyThere, conflicts, refused }: AdoptProgress): string {
  return `${rows} rows: ${adopted} adopted, ${alreadyThere} already there, ${conflicts} conflicts, ${refused} refused`;
}

function describe(outcome: AdoptOutcome): string {
  const { effect, dryRun, firstConflicts, firstRefused, conflicts, refused, interrupted } = outcome;
  const parts = [`${effect}${dryRun ? ', nothing changed yet' : ''}: ${inWords(outcome)}`];
  if (interrupted) parts.push(`  not all rows were read: ${interrupted.code}: ${interrupted.message}`);
  parts.push(...list('conflict', firstConflicts, conflicts), ...list('refused', firstRefused, refused));
  return parts.join('\n');
}

function list(kind: string, first: readonly RowNotAdopted[], all: number): readonly string[] {
  const lines = first.map(({ line, why }) => `  row ${line}: ${kind}: ${why}`);
  return all > first.length ? [...lines, `  and ${all - first.length} more: ${kind}`] : lines;
}
