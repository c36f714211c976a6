import { Command } from 'commander';
import { abandonCommand } from './abandon-command.js';
import { actsCommand } from './acts-command.js';
import { adminCommand } from './admin-command.js';
import { adoptCommand } from './adopt-command.js';
import { checkCommand } from './check-command.js';
import { migrateCommand, receiverCommand, runCommand, sendCommand, workerCommand } from './commands.js';
import { deadLettersCommand } from './dead-letters-command.js';
import { deliveriesCommand } from './deliveries-command.js';
import { devCommand } from './dev.js';
import { endpointsCommand } from './endpoints-command.js';
import { eventsCommand } from './events-command.js';
import { fixCommand } from './fix-command.js';
import { ingestCommand } from './ingest-command.js';
import { pauseCommand } from './pause-command.js';
import { publicationsCommand } from './publications-command.js';
import { publishCommand } from './publish-command.js';
import { recoverCommand } from './recover-command.js';
import { rejectedCommand } from './rejected-command.js';
import { relayCommand } from './relay-command.js';
import { replayCommand } from './replay-command.js';
import { republishCommand } from './republish-command.js';
import { resolveCommand } from './resolve-command.js';
import { resumeCommand } from './resume-command.js';
import { retryNowCommand } from './retry-now-command.js';
import { setupCommand } from './setup-command.js';
import { temporalCommand } from './temporal-command.js';
import { traceCommand } from './trace-command.js';

/** Exit codes of every command. */
export const exitCodes: Readonly<Record<string, string>> = {
  0: 'done; of a look, nothing is wrong',
  1: 'refused or failed, with a code and a sentence on standard error; of many, some were',
  2: 'the command line is wrong',
  130: 'stopped by Ctrl-C, between two steps',
};

/** The commands by what they are for, in the order in which one meets them. */
const groups: readonly (readonly [heading: string, commands: () => readonly Command[]])[] = [
  ['Run:', () => [devCommand(), receiverCommand(), workerCommand(), relayCommand(), runCommand(), adminCommand()]],
  ['Set up:', () => [migrateCommand(), setupCommand(), checkCommand()]],
  ['Send:', () => [sendCommand(), publishCommand(), endpointsCommand(recoverCommand())]],
  [
    'See:',
    () => [
      traceCommand(),
      eventsCommand(),
      deadLettersCommand(),
      publicationsCommand(),
      deliveriesCommand(),
      rejectedCommand(),
      actsCommand(),
    ],
  ],
  [
    'Act:',
    () => [
      fixCommand(),
      replayCommand(),
      resolveCommand(),
      retryNowCommand(),
      abandonCommand(),
      pauseCommand(),
      resumeCommand(),
      ingestCommand(),
      republishCommand(),
      adoptCommand(),
    ],
  ],
  ["Temporal's own:", () => [temporalCommand()]],
];

/** Makes the executable's commands. What a command needs is loaded when it is carried out. */
export function createProgram(version: string): Command {
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `  ${code.padEnd(4)}${meaning}\n`);
  const program = new Command('onefold')
    .description('Webhooks on Temporal: many deliveries, one effect.')
    .version(version)
    .enablePositionalOptions()
    .showHelpAfterError()
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .addHelpText(
      'after',
      `\nExit codes:\n${codes.join('')}\n` +
        'Temporal is found by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the other TEMPORAL_* variables and profiles,\n' +
        'PostgreSQL by DATABASE_URL.',
    );
  for (const [heading, commands] of groups) {
    for (const command of commands()) program.addCommand(command.copyInheritedSettings(program).helpGroup(heading));
  }
  return program;
}
