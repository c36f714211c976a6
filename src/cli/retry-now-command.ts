import { Command } from 'commander';
import type { RetryDeliveryNowOutcome } from '../operations/retry-delivery-now.js';
import type { RetryManyNowOutcome } from '../operations/retry-many-now.js';
import type { RetryNowOutcome } from '../operations/retry-now.js';
import { type ActFlags, actOf, printOutcome, tenantOf, withActOptions } from './act-options.js';
import { withActingContext } from './acting-context.js';
import { plainLine } from './endpoints/plain-line.js';
import { lookFirst } from './look-first.js';
import { eventsInWords, pausedInWords } from './print-pause.js';
import { toldInWords } from './print-told.js';
import { progressOn } from './progress-line.js';

interface RetryFlags extends ActFlags {
  readonly effect?: string;
  readonly source?: string;
  readonly publication?: string;
  readonly endpoint?: string;
}

/** `onefold retry-now` */
export function retryNowCommand(): Command {
  const command = new Command('retry-now')
    .description(
      'End the pause of a running event between two attempts, or that of a delivery. Without an event, of every open event ' +
        'that has an effect before it, or of a source: says how many first and asks. It spends an attempt as it would have ' +
        'later; what is paused, parked or leased goes on waiting.',
    )
    .argument('[event]', 'source/event-id, or the workflow ID')
    .option(
      '--effect <name>',
      'of the event only this effect; without an event, all open events that have it before them',
    )
    .option('--source <name>', 'without an event: all open events of this source')
    .option('--publication <identity>', 'instead of an event: a delivery of this publication')
    .option('--endpoint <id>', 'with --publication: to this endpoint');
  return withActOptions(command, 'tenant of the event or delivery (default: none; of many, every tenant)', true).action(
    async (event: string | undefined, flags: RetryFlags) => {
      const { effect, source, publication, endpoint } = flags;
      if ((publication === undefined) !== (endpoint === undefined)) {
        command.error('error: a delivery is named by --publication and --endpoint');
      }
      if (event !== undefined && (source !== undefined || publication !== undefined)) {
        command.error('error: name an event, or many by --source, or a delivery by --publication');
      }
      if (publication !== undefined && (effect !== undefined || source !== undefined)) {
        command.error('error: --effect and --source are for events');
      }
      if (publication !== undefined && endpoint !== undefined) return retryDelivery(flags, { publication, endpoint });
      if (event !== undefined) return retryOne(event, flags);
      if ((effect === undefined) === (source === undefined)) {
        command.error('error: name an event, or many by --effect or --source, or a delivery by --publication');
      }
      await retryMany(flags);
    },
  );
}

async function retryOne(event: string, flags: RetryFlags): Promise<void> {
  await withActingContext('retry-now', flags.config, async (context) => {
    const { retryNow } = await import('../operations/retry-now.js');
    const { effect } = flags;
    const options = { ...actOf(flags), ...tenantOf(flags), ...(effect === undefined ? {} : { effect }) };
    printOutcome(flags, await retryNow(context, event, { ...options, dryRun: flags.dryRun === true }), describe);
  });
}

const came: Readonly<Record<RetryNowOutcome['outcome'], string>> = {
  told: 'told to try now',
  told_before: 'was told by this act before',
  dry_run: 'would be told to try now',
};

function describe({ event, outcome, found, id }: RetryNowOutcome): string {
  const effects = found?.map(({ effect, phase, attempts, maximumAttempts, nextTryAt, lastFailure, outcome: ended }) => {
    const next = nextTryAt === undefined ? '' : `, next try was due at ${nextTryAt}`;
    const why = lastFailure ? `, last ${lastFailure.code}` : '';
    const stands = ended ?? `${phase}, attempts: ${attempts} of ${maximumAttempts}${next}${why}`;
    return `  ${effect}: ${stands}\n`;
  });
  const rest = effects?.join('') ?? '  no worker answered where it stands: it is told when one runs\n';
  return `${plainLine(event)}: ${came[outcome]} (act ${id})\n${rest}`;
}

async function retryDelivery(
  flags: RetryFlags,
  name: { readonly publication: string; readonly endpoint: string },
): Promise<void> {
  await withActingContext('retry-now', flags.config, async (context) => {
    const { retryDeliveryNow } = await import('../operations/retry-delivery-now.js');
    const options = { ...actOf(flags), dryRun: flags.dryRun === true };
    printOutcome(flags, await retryDeliveryNow(context, { ...name, ...tenantOf(flags) }, options), describeDelivery);
  });
}

function describeDelivery({ publication, endpoint, outcome, found, id }: RetryDeliveryNowOutcome): string {
  const next = found?.nextTryAt === undefined ? '' : `, next try was due at ${found.nextTryAt}`;
  const last = found?.lastFailure ? `, last ${found.lastFailure.code}` : '';
  const stands = found
    ? `${found.phase}, attempts: ${found.attempts}${next}${last}`
    : 'no worker answered where it stands: it is told when one runs';
  return `${plainLine(publication)} → ${endpoint}: ${came[outcome]} (act ${id})\n  ${stands}\n`;
}

async function retryMany(flags: RetryFlags): Promise<void> {
  await withActingContext('retry-now', flags.config, async (context) => {
    const { retryManyNow } = await import('../operations/retry-many-now.js');
    const { effect, source = '' } = flags;
    const target = { ...(effect === undefined ? { source } : { effect }), ...tenantOf(flags) };
    const goOn = await lookFirst(flags, {
      look: () => retryManyNow(context, target, { ...actOf(flags), dryRun: true }),
      describe: (seen) => `${pausedInWords(seen)}: ${eventsInWords(seen.found)}\n`,
      question: 'Try them now?',
      code: 'confirmation_missing',
    });
    if (!goOn) return;
    const progress = progressOn(process.stderr);
    const outcome = await retryManyNow(context, target, {
      ...actOf(flags),
      onProgress: ({ told, gone }) => progress.show(`${told + gone} told`),
    }).finally(() => progress.close());
    printOutcome(flags, outcome, answerMany);
    if (outcome.outcome === 'interrupted') process.exitCode = 1;
  });
}

function answerMany(outcome: RetryManyNowOutcome): string {
  const { id } = outcome;
  const what = pausedInWords(outcome);
  if (outcome.outcome === 'told_before') return `${what}: told by this act before (act ${id})\n`;
  return `${what}: told to try now (act ${id})\n${toldInWords(outcome, id)}`;
}
