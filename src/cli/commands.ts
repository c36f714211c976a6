import { Command, InvalidArgumentError } from 'commander';
import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { portNumber, readEnvironment } from '../runtime/environment.js';
import { configOption } from './config-option.js';
import { loadConfig } from './load-config.js';
import type { ProcessOptions } from './run-processes.js';
import { withUnit } from './with-unit.js';

// What only one command needs is loaded inside its action: Temporal's client, Express, pino and the migrations take a second
// together, which `--help`, a misspelt option and the other commands need not spend.

/** Turns what a check throws into commander's own complaint, which names the option and exits with 2. */
function checked<Value>(read: (text: string) => Value): (text: string) => Value {
  return (text) => {
    try {
      return read(text);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  };
}

const port = checked((text) => portNumber(text, 'port'));

function wholeNumber(least: number, most: number): (text: string) => number {
  return checked((text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new Error(`expected a whole number from ${least} to ${most}`);
  });
}

/** A pause or a grace of this process, which nobody wants longer. */
function duration(name: string): (text: string) => number {
  return checked((text) => durationMs(withUnit(text), name, '1 hour'));
}

function processCommand(name: string, description: string, parts: { receiver: boolean; worker: boolean }): Command {
  const command = new Command(name).description(description).option(...configOption);
  if (parts.receiver) {
    command
      .option('--host <address>', 'address to listen on (ONEFOLD_HOST; default 0.0.0.0)')
      .option('--port <number>', 'port to listen on, 0 for any (ONEFOLD_PORT; default 8080)', port);
  }
  if (parts.worker) {
    command.option(
      '--concurrency <number>',
      'first attempts at once, and as many later ones beside them; each may hold a PostgreSQL connection (default 15)',
      wholeNumber(1, 1000),
    );
    command.option(
      '--sends <number>',
      'requests to endpoints at once, where the application publishes (default 200)',
      wholeNumber(1, 1000),
    );
    command.option(
      '--no-relay',
      'run no relay beside, where the application publishes: `onefold relay` does it elsewhere',
    );
    command.option(
      '--grace <duration>',
      'how long a stopping worker lets running attempts end before it tells them to (default 10 seconds); ' +
        'it gives up on one that ignores that 15 seconds later',
      duration('grace'),
    );
  }
  return command.action(async ({ config, ...options }: ProcessOptions & { config?: string }) => {
    const { runProcesses } = await import('./run-processes.js');
    const onefold = await loadConfig(config ?? readEnvironment().config);
    process.exit(await runProcesses(onefold, parts, options));
  });
}

/** `onefold receiver` */
export function receiverCommand(): Command {
  return processCommand('receiver', 'Receive webhooks: verify, identify, hand to Temporal, answer.', {
    receiver: true,
    worker: false,
  });
}

/** `onefold worker` */
export function workerCommand(): Command {
  return processCommand('worker', 'Carry events: plan them, run their effects, record what happened.', {
    receiver: false,
    worker: true,
  });
}

/** `onefold run` */
export function runCommand(): Command {
  return processCommand('run', 'Receiver and worker in one process.', { receiver: true, worker: true });
}

/** `onefold migrate` */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Bring the ledger in PostgreSQL up to this version. Safe to run from several processes at once.')
    .option('--schema <name>', "the ledger's schema (ONEFOLD_SCHEMA; default onefold)")
    .action(async (options: { schema?: string }) => {
      const environment = readEnvironment();
      if (environment.databaseUrl === undefined) {
        throw new OnefoldError(
          'config_missing',
          'DATABASE_URL is not set: name the database that the effects write to',
        );
      }
      const schema = options.schema ?? environment.schema;
      const { migrateLedger } = await import('../ledger/migrate.js');
      const applied = await migrateLedger({
        connectionString: environment.databaseUrl,
        ...(schema === undefined ? {} : { schema }),
        onProgress: (line) => void process.stdout.write(`${line}\n`),
      });
      process.stdout.write(applied.length === 0 ? 'the ledger is up to date\n' : `${applied.length} applied\n`);
    });
}

interface SendFlags {
  readonly config?: string;
  readonly source: string;
  readonly url?: string;
  readonly id?: string;
  readonly type?: string;
  readonly times: number;
  readonly concurrency: number;
  readonly every: number;
}

/** `onefold send` */
export function sendCommand(): Command {
  return new Command('send')
    .description('Send a payload to a receiver as the provider would: signed, under one identity, as often as asked.')
    .argument('<file>', 'JSON file, or - for standard input')
    .requiredOption('--source <name>', 'the source that signs it')
    .option('--config <file>', `${configOption[1].replace(/\)$/, '')}, here or above the file)`)
    .option('--url <url>', "the receiver's URL of the source (default http://127.0.0.1:8080/webhooks/<source>)")
    .option('--id <id>', "event id (default: the body's own id, else one made from the body)")
    .option('--type <type>', "event type (default: the body's own, else the file's name, such as issues.opened.json)")
    .option('--times <n>', 'deliveries of the same event', wholeNumber(1, 100_000), 1)
    .option('--concurrency <n>', 'how many of them at once', wholeNumber(1, 1000), 1)
    .option('--every <duration>', 'pause between deliveries', duration('every'), 1000)
    .action(async (file: string, flags: SendFlags) => {
      const { sendDeliveries } = await import('./send-deliveries.js');
      const environment = readEnvironment();
      const onefold = await loadConfig(flags.config ?? environment.config, file === '-' ? undefined : file);
      const source = onefold.catalogue.source(flags.source);
      if (!source) {
        const names = onefold.catalogue.sources.map(({ name }) => name).join(', ');
        throw new OnefoldError('unknown_source', `no source '${flags.source}' in the configuration; it has ${names}`);
      }
      const url = flags.url ?? `http://127.0.0.1:${environment.port ?? 8080}/webhooks/${source.name}`;
      let refused = 0;
      await sendDeliveries(
        {
          file,
          source,
          url,
          times: flags.times,
          concurrency: flags.concurrency,
          everyMs: flags.every,
          ...(flags.id === undefined ? {} : { id: flags.id }),
          ...(flags.type === undefined ? {} : { type: flags.type }),
        },
        ({ status, path, body, ms }) => {
          if (status >= 400) refused += 1;
          process.stdout.write(`${status} ${path ?? '-'} ${Math.round(ms)} ms ${body}\n`);
        },
      );
      await onefold.close();
      if (refused > 0) process.exitCode = 1;
    });
}
