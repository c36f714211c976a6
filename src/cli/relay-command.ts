import { Command } from 'commander';
import { readEnvironment } from '../runtime/environment.js';
import { configOption } from './config-option.js';
import { loadConfig } from './load-config.js';

/** `onefold relay` */
export function relayCommand(): Command {
  return new Command('relay')
    .description(
      'Start the deliveries of what was published. Workers of an application that publishes do so too; as a process of its ' +
        'own it goes on while they are deployed or busy. Any number may run.',
    )
    .option(...configOption)
    .addHelpText(
      'after',
      '\nRuns until SIGTERM or SIGINT; a second one ends it at once. /metrics on ONEFOLD_METRICS_PORT.',
    )
    .action(async ({ config }: { config?: string }) => {
      const { runRelay } = await import('./run-relay.js');
      process.exit(await runRelay(await loadConfig(config ?? readEnvironment().config)));
    });
}
