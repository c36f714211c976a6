import { Command } from 'commander';
import { adminCommand } from './admin-command.js';
import { checkCommand } from './check-command.js';
import { migrateCommand, receiverCommand, runCommand, sendCommand, workerCommand } from './commands.js';
import { deliveriesCommand } from './deliveries-command.js';
import { devCommand } from './dev.js';
import { endpointsCommand } from './endpoints-command.js';
import { publishCommand } from './publish-command.js';
import { recoverCommand } from './recover-command.js';
import { relayCommand } from './relay-command.js';
import { replayCommand } from './replay-command.js';
import { republishCommand } from './republish-command.js';
import { resolveCommand } from './resolve-command.js';
import { setupCommand } from './setup-command.js';
import { temporalCommand } from './temporal-command.js';

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
  ['See:', () => [deliveriesCommand()]],
  ['Act:', () => [replayCommand(), republishCommand(), resolveCommand()]],
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
