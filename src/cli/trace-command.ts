import { Command } from 'commander';
import { withActingContext } from './acting-context.js';
import { configOption } from './config-option.js';

interface TraceFlags {
  readonly config?: string;
  readonly tenant?: string;
  readonly temporal: boolean;
  readonly full?: boolean;
  readonly json?: boolean;
}

/** `onefold trace` */
export function traceCommand(): Command {
  return new Command('trace')
    .description(
      'Tell everything that is known of an event, a business key or a publication: what is done and by which attempt, ' +
        'whom to suspect, what may be done now, and one timeline of deliveries, attempts, acts and dead letters. Changes nothing.',
    )
    .argument('<identity>', 'an event, a business key, a publication, a workflow ID, a webhook-id, or part of one')
    .argument('[business-key]', 'with it, the first is the effect')
    .option('--tenant <name>', "only this tenant, '' for none (default: all are searched)")
    .option('--no-temporal', 'ask only the ledger')
    .option('--full', 'do not shorten the timeline')
    .option('--json', 'print it as JSON')
    .option(...configOption)
    .action(async (first: string, second: string | undefined, flags: TraceFlags) => {
      const { config, json, tenant, temporal, full = false } = flags;
      await withActingContext('trace', config, async (context) => {
        const { traceIdentity } = await import('../operations/trace/trace-identity.js');
        const { printTrace } = await import('./print-trace.js');
        const trace = await traceIdentity(context, second ?? first, {
          temporal,
          ...(tenant === undefined ? {} : { tenant }),
          ...(second === undefined ? {} : { effect: first }),
        });
        process.stdout.write(json ? `${JSON.stringify(trace)}\n` : printTrace(trace, { full }));
        if (trace.outcome === 'ambiguous') process.exitCode = 1;
      });
    });
}
