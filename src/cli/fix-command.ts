import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { OnefoldError } from '../errors.js';
import type { Trace, ValidAct } from '../operations/trace/trace.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';

interface FixFlags {
  readonly config?: string;
  readonly tenant?: string;
  readonly do?: string;
  readonly with?: string;
  readonly reason?: string;
  readonly by?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** An act that a command carries out. */
type Fix = ValidAct & { readonly words: readonly string[] };

/** `onefold fix` */
export function fixCommand(): Command {
  return new Command('fix')
    .description(
      'Show where an event, a business key or a publication stands, and offer the acts that are valid there, and no others. ' +
        'The one that is chosen is carried out by its own command, which shows what it would do and asks.',
    )
    .argument('<identity>', 'as `onefold trace` takes it')
    .argument('[business-key]', 'with it, the first is the effect')
    .option('--do <act>', 'carry out this one without asking which: its number, or its name where only one has it')
    .option('--with <value>', 'what the act asks for: of resolve the result as JSON, of replay the effect')
    .option('--reason <text>', 'why; recorded (asked for where it is not given)')
    .option('--by <name>', 'who acts; recorded (default: the user of this process)')
    .option('--tenant <name>', "only this tenant, '' for none (default: all are searched)")
    .option('--yes', 'do not ask whether to carry it out; with --do and --reason')
    .option('--json', 'print where it stands and the valid acts as JSON, and carry out nothing')
    .option(...configOption)
    .addHelpText(
      'after',
      '\nExit codes: 0 shown, or carried out; 1 the act was refused or is not valid, or the name means several things; ' +
        '2 the command line is wrong.',
    )
    .action(async (first: string, second: string | undefined, flags: FixFlags) => {
      const fixes = await look(first, second, flags);
      if (!fixes || flags.json) return;
      const fix = await choose(fixes, flags);
      if (fix) process.exitCode = await carryOut(fix, flags);
    });
}

/** Shows where it stands. @returns The acts with a command; undefined where the name means several things. */
async function look(first: string, second: string | undefined, flags: FixFlags): Promise<readonly Fix[] | undefined> {
  const { config, tenant, json } = flags;
  let trace: Trace | undefined;
  await withActingContext('fix', config, async (context) => {
    const { traceIdentity } = await import('../operations/trace/trace-identity.js');
    const { printTrace } = await import('./print-trace.js');
    trace = await traceIdentity(context, second ?? first, {
      ...(tenant === undefined ? {} : { tenant }),
      ...(second === undefined ? {} : { effect: first }),
    });
    if (trace.outcome === 'ambiguous') {
      process.stdout.write(json ? `${JSON.stringify(trace)}\n` : printTrace(trace, { full: false }));
      process.exitCode = 1;
      return;
    }
    const { timeline: _timeline, ...head } = trace;
    process.stdout.write(
      json ? `${JSON.stringify(head)}\n` : printTrace({ ...trace, timeline: [], next: [] }, { full: false }),
    );
  });
  if (!trace || trace.outcome === 'ambiguous') return undefined;
  if (!json) process.stdout.write(`\n${offer(trace.next)}`);
  return trace.next.filter(isFix);
}

function isFix(act: ValidAct): act is Fix {
  return act.words !== undefined;
}

/** Only what can be carried out has a number. */
function offer(acts: readonly ValidAct[]): string {
  if (acts.length === 0) return 'nothing is to be done about it\n';
  let number = 0;
  const lines = acts.map((act) => {
    if (!isFix(act)) return `  -  ${act.act}: ${act.why}\n`;
    number += 1;
    return `  ${number}  ${act.act}: ${act.why}\n       ${act.command}\n`;
  });
  return `what can be done\n${lines.join('')}`;
}

/** @throws {OnefoldError} `act_invalid` where `--do` names none that is valid, or several. */
async function choose(fixes: readonly Fix[], flags: FixFlags): Promise<Fix | undefined> {
  if (flags.do !== undefined) return named(fixes, flags.do);
  if (fixes.length === 0 || !process.stdin.isTTY) return undefined;
  const answer = await ask(`Which? [1${fixes.length > 1 ? `-${fixes.length}` : ''}, or nothing] `);
  return answer === '' ? undefined : named(fixes, answer);
}

function named(fixes: readonly Fix[], name: string): Fix {
  const found = /^\d+$/.test(name)
    ? fixes.slice(Number(name) - 1, Number(name))
    : fixes.filter(({ act }) => act === name);
  const [fix] = found;
  if (fix && found.length === 1) return fix;
  const several = found.length > 1 ? `${found.length} of them are called ${name}: give its number` : undefined;
  const valid = fixes.map(({ act }, index) => `${index + 1} ${act}`).join(', ') || 'none';
  throw new OnefoldError('act_invalid', several ?? `'${name}' is not valid here; valid are: ${valid}`);
}

/** Runs the act's own command with this terminal. @returns Its exit code. */
async function carryOut(fix: Fix, flags: FixFlags): Promise<number> {
  const value = fix.asks === undefined ? undefined : await given(flags.with, `${fix.asks}: `, '--with');
  const reason = await given(flags.reason, 'Why? ', '--reason');
  const words = fix.words.map((word) => (word === placeholder ? (value ?? '') : word));
  const args = [
    ...words,
    ...['--reason', reason],
    ...(flags.by === undefined ? [] : ['--by', flags.by]),
    ...(flags.config === undefined ? [] : ['--config', flags.config]),
    ...(flags.yes ? ['--yes'] : []),
  ];
  const [executable] = process.argv.slice(1);
  const child = spawn(process.execPath, [...process.execArgv, executable ?? '', ...args], { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** Stands in the words of an act for what it asks for. */
const placeholder = '…';

async function given(value: string | undefined, question: string, option: string): Promise<string> {
  if (value !== undefined) return value;
  if (!process.stdin.isTTY) throw new OnefoldError('confirmation_missing', `nobody is there to ask: add ${option}`);
  const answer = await ask(question);
  if (answer === '') throw new OnefoldError('confirmation_missing', 'nothing was answered, and nothing was changed');
  return answer;
}

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await lines.question(question)).trim();
  } finally {
    lines.close();
  }
}
