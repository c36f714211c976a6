import { Command } from 'commander';
import { OnefoldError } from '../errors.js';
import type { PublicationFields, Published } from '../publisher/publication.js';
import type { PublishDependencies } from '../publisher/publish.js';
import type { PublishProgress } from '../publisher/publish-many.js';
import { type ActingContext, withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { progressOn } from './progress-line.js';
import { type MessageDefaults, readLines, readMessage } from './read-messages.js';

interface PublishFlags {
  readonly config?: string;
  readonly type?: string;
  readonly publication?: string;
  readonly tenant?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `onefold publish` */
export function publishCommand(): Command {
  const command = new Command('publish');
  return command
    .description(
      'Publish one message, or many of them line by line. Publishing the same again changes nothing, so a command that was ' +
        'broken off is simply repeated.',
    )
    .argument(
      '<file>',
      'JSON file: one message; .ndjson or .jsonl file, or - for standard input: a message in each line',
    )
    .option(
      '--publication <identity>',
      'publication identity, such as order:42:confirmed:v1; the file is its data then',
    )
    .option('--type <type>', 'type of messages that name none')
    .option('--tenant <name>', 'tenant of messages that name none')
    .option('--dry-run', 'judge the messages and say who would get them; publish nothing')
    .option('--json', 'print the outcome as JSON')
    .option(...configOption)
    .addHelpText(
      'after',
      '\nA message: {"publication":"order:42:confirmed:v1","type":"order.confirmed","data":{"order":"42"}}\n' +
        'and, where needed, "tenant", "eventId", "retry":false. Its type stands in the catalogue of the configuration.\n' +
        'Exit codes: 0 all are published; 1 some were refused, each named on standard error, or it failed; 2 the command line is wrong.',
    )
    .action(async (file: string, flags: PublishFlags) => {
      const lines = /\.(ndjson|jsonl)$/i.test(file) || (file === '-' && flags.publication === undefined);
      if (lines && flags.publication !== undefined) {
        command.error('error: --publication names one message, and the file has one in each line', { exitCode: 2 });
      }
      await withActingContext('publish', flags.config, async (context) => {
        const deps = dependenciesOf(context);
        const defaults: MessageDefaults = {
          ...(flags.publication === undefined ? {} : { publication: flags.publication }),
          ...(flags.type === undefined ? {} : { type: flags.type }),
          ...(flags.tenant === undefined ? {} : { tenant: flags.tenant }),
        };
        if (flags.dryRun) await dryRun(deps, lines, file, defaults, flags);
        else if (lines) await publishLines(deps, file, defaults, flags);
        else await publishOne(deps, file, defaults, flags);
      });
    });
}

function dependenciesOf({ publications, ledger, metrics }: ActingContext): PublishDependencies {
  if (publications) return { ledger, publications, metrics };
  throw new OnefoldError(
    'config_invalid',
    'the configuration publishes nothing: give createOnefold what `publications({ events })` returns',
  );
}

async function publishOne(
  deps: PublishDependencies,
  file: string,
  defaults: MessageDefaults,
  { json }: PublishFlags,
): Promise<void> {
  const { publish } = await import('../publisher/publish.js');
  const published = await publish(deps, await readMessage(file, defaults));
  process.stdout.write(json ? `${JSON.stringify(published)}\n` : describe(published));
}

function describe({ publication, eventId, path, publishedAt, deliveries }: Published): string {
  const when = path === 'published' ? 'published' : `already published at ${publishedAt.toISOString()}`;
  const rows = deliveries.map(({ endpoint, state }) => `  ${state.padEnd(13)} ${endpoint}\n`);
  const to = deliveries.length === 1 ? '1 endpoint' : `${deliveries.length} endpoints`;
  return `${publication}: ${when}, webhook-id ${eventId}, to ${to}\n${rows.join('')}`;
}

async function publishLines(
  deps: PublishDependencies,
  file: string,
  defaults: MessageDefaults,
  { json }: PublishFlags,
): Promise<void> {
  const { publishMany } = await import('../publisher/publish-many.js');
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  const lineOf = new WeakMap<object, number>();
  let unreadable = 0;
  const progressLine = progressOn(process.stderr);
  try {
    const progress = await publishMany(
      deps,
      readLines(file, defaults, lineOf, ({ line, error }) => {
        unreadable += 1;
        tellRefused(line, error);
      }),
      {
        signal: stopping.signal,
        onProgress: (now) => progressLine.show(inWords({ ...now, refused: now.refused + unreadable })),
        onRefused: ({ publication, error }) => tellRefused(lineOf.get(publication), error),
      },
    );
    const all = { ...progress, settled: progress.settled + unreadable, refused: progress.refused + unreadable };
    progressLine.close();
    process.stdout.write(json ? `${JSON.stringify(all)}\n` : `${inWords(all)}\n`);
    if (all.refused > 0) process.exitCode = 1;
  } catch (error) {
    progressLine.close();
    if (!stopping.signal.aborted) throw error;
    process.stderr.write('stopped; the same command goes on from here\n');
    process.exitCode = 130;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  }
}

function tellRefused(line: number | undefined, { code, message }: OnefoldError): void {
  process.stderr.write(`line ${line}: ${code}: ${message}\n`);
}

function inWords({ settled, published, alreadyPublished, refused, deliveries }: PublishProgress): string {
  return `${settled} read: ${published} published to ${deliveries} deliveries, ${alreadyPublished} already published, ${refused} refused`;
}

async function dryRun(
  deps: PublishDependencies,
  lines: boolean,
  file: string,
  defaults: MessageDefaults,
  { json }: PublishFlags,
): Promise<void> {
  const { buildPublication } = await import('../publisher/build-publication.js');
  const { whoSubscribes } = await import('../operations/endpoints/who-subscribes.js');
  const counts = new Map<string, { tenant: string; type: string; messages: number }>();
  const lineOf = new WeakMap<object, number>();
  let refused = 0;
  const refuse = (line: number | undefined, error: unknown): void => {
    if (!(error instanceof OnefoldError) || !lines) throw error;
    refused += 1;
    tellRefused(line, error);
  };
  const messages: Iterable<PublicationFields> | AsyncIterable<PublicationFields> = lines
    ? readLines(file, defaults, lineOf, ({ line, error }) => refuse(line, error))
    : [await readMessage(file, defaults)];
  for await (const message of messages) {
    try {
      const { tenant, type } = await buildPublication(deps.publications, message, { tenant: '', cause: null });
      const key = JSON.stringify([tenant, type]);
      const counted = counts.get(key) ?? { tenant, type, messages: 0 };
      counted.messages += 1;
      counts.set(key, counted);
    } catch (error) {
      refuse(lineOf.get(message), error);
    }
  }
  const wouldGo = [];
  for (const counted of counts.values()) {
    const endpoints = await whoSubscribes(deps, counted.tenant, counted.type);
    wouldGo.push({ ...counted, endpoints: endpoints.map(({ id, url, state }) => ({ id, url, state })) });
  }
  if (json) {
    process.stdout.write(`${JSON.stringify({ wouldGo, refused })}\n`);
  } else {
    for (const { tenant, type, messages: count, endpoints } of wouldGo) {
      const of = tenant === '' ? '' : ` of tenant ${tenant}`;
      process.stdout.write(`${type}${of}: ${count} would go to ${endpoints.length} endpoints\n`);
      for (const { id, url, state } of endpoints) process.stdout.write(`  ${state.padEnd(9)} ${id} ${url}\n`);
    }
    if (refused > 0) process.stdout.write(`${refused} would be refused\n`);
  }
  if (refused > 0) process.exitCode = 1;
}
