import { userInfo } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import type { IngestOptions, IngestOutcome } from '../operations/ingest-event.js';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';
import { plainLine } from './endpoints/plain-line.js';
import { lookFirst } from './look-first.js';
import { type PayloadLine, readPayload, readPayloadLines } from './read-payload.js';

interface IngestFlags {
  readonly config?: string;
  readonly source: string;
  readonly id?: string;
  readonly type?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly tenant?: string;
  readonly lines?: boolean;
  readonly reason: string;
  readonly by?: string;
  readonly act?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `onefold ingest` */
export function ingestCommand(): Command {
  return new Command('ingest')
    .description(
      'Hand in an event that its provider has given up on, as the source would have received it: under the same identity, by ' +
        'the same path, marked as unsigned. Shows first what is known of the event, and asks.',
    )
    .argument('<file>', 'the body as the provider sent it, or - for standard input')
    .requiredOption('--source <name>', 'the source that reads it')
    .option('--id <id>', "the provider's event id, where the source reads it from a header")
    .option('--type <type>', 'event type, where the source reads it from a header, such as issues.opened')
    .option('--header <name:value>', 'a further header that the provider would have sent; repeatable', header)
    .option('--tenant <name>', "tenant of the event, where the source's function cannot tell it without the request")
    .option('--lines', 'the file has one event per line; for sources that read the identity from the body')
    .requiredOption('--reason <text>', 'why; recorded')
    .option('--by <name>', 'who asks for it; recorded (default: the user of this process)')
    .option('--act <id>', 'identity of this wish: repeating a command with the same one is harmless')
    .option('--dry-run', 'show what is known of the event and change nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON; of several events, one per line')
    .option(...configOption)
    .action(async (file: string, flags: IngestFlags, command: Command) => {
      if (flags.lines && flags.id !== undefined) command.error('error: --id is for one event');
      if (file === '-' && !flags.yes && !flags.dryRun) {
        command.error('error: with standard input there is nobody to ask: add --yes, or --dry-run to look only');
      }
      const payloads = flags.lines ? await readPayloadLines(file) : [{ line: 1, payload: await readPayload(file) }];
      await withActingContext('ingest', flags.config, async (context) => {
        const { ingestEvent } = await import('../operations/ingest-event.js');
        const one = (payload: PayloadLine, dryRun: boolean) =>
          ingestEvent(context, flags.source, payload.payload, optionsOf(flags, payload.line, dryRun));
        const goOn = await lookFirst(flags, {
          look: () => eachOf(payloads, flags, (payload) => one(payload, true)),
          describe: (seen) => seen.map(describe).join(''),
          question: payloads.length === 1 ? 'Hand it in?' : `Hand these ${payloads.length} events in?`,
          code: 'ingest_refused',
        });
        if (!goOn) return;
        await eachOf(payloads, flags, async (payload) => {
          const outcome = await one(payload, false);
          process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : sentence(outcome));
          return outcome;
        });
      });
    });
}

/** Takes the events one after the other; of several, one that is refused does not hold up the rest. */
async function eachOf(
  payloads: readonly PayloadLine[],
  { lines }: IngestFlags,
  take: (payload: PayloadLine) => Promise<IngestOutcome>,
): Promise<IngestOutcome[]> {
  const { OnefoldError } = await import('../errors.js');
  const taken: IngestOutcome[] = [];
  for (const payload of payloads) {
    try {
      taken.push(await take(payload));
    } catch (error) {
      if (!lines || !(error instanceof OnefoldError)) throw error;
      process.stderr.write(`line ${payload.line}: ${error.code}: ${plainLine(error.message)}\n`);
      process.exitCode = 1;
    }
  }
  return taken;
}

function optionsOf(flags: IngestFlags, line: number, dryRun: boolean): IngestOptions {
  const { id, type, header: headers, tenant, act, lines } = flags;
  return {
    by: flags.by ?? userInfo().username,
    reason: flags.reason,
    ...(id === undefined ? {} : { id }),
    ...(type === undefined ? {} : { type }),
    ...(headers === undefined ? {} : { headers }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(act === undefined ? {} : { act: lines ? `${act}/${line}` : act }),
    ...(dryRun ? { dryRun } : {}),
  };
}

/** Several of them come one by one. */
function header(text: string, earlier: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const colon = text.indexOf(':');
  const name = text.slice(0, Math.max(colon, 0)).trim();
  if (name === '') throw new InvalidArgumentError("expected a header such as 'X-Shopify-Shop-Domain: a.myshopify.com'");
  return { ...earlier, [name]: text.slice(colon + 1).trim() };
}

function describe({ event, type, effects, state, path, bodyDiffers }: IngestOutcome): string {
  const who = effects.length === 0 ? 'no effect subscribes to it' : `for ${effects.join(', ')}`;
  return (
    `${plainLine(event)}: ${state.ledger} in the ledger, ${state.temporal} in Temporal\n` +
    `  ${plainLine(type)}, ${who}; it would be ${path}\n` +
    (bodyDiffers ? '  it is known with another body than this one\n' : '')
  );
}

function sentence({ event, path, outcome, bodyDiffers, act }: IngestOutcome): string {
  const ended = outcome === undefined ? '' : `, ${outcome}`;
  const differs = bodyDiffers ? ', known with another body' : '';
  return `${plainLine(event)}: ${path}${ended}${differs} (act ${act})\n`;
}
