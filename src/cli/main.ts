#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { OnefoldError } from '../errors.js';
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
import { temporalCommand } from './temporal-command.js';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const program = new Command('onefold')
  .description('Webhooks on Temporal: many deliveries, one effect.')
  .version(version)
  .enablePositionalOptions()
  .showHelpAfterError()
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .addHelpText(
    'after',
    '\nExit codes: 0 done; 1 refused or failed, with a code and a sentence; 2 the command line is wrong.\n' +
      'Temporal is found by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the other TEMPORAL_* variables and profiles,\n' +
      'PostgreSQL by DATABASE_URL.',
  );
for (const command of [
  devCommand(),
  receiverCommand(),
  workerCommand(),
  relayCommand(),
  runCommand(),
  migrateCommand(),
  checkCommand(),
  sendCommand(),
  publishCommand(),
  endpointsCommand(recoverCommand()),
  deliveriesCommand(),
  replayCommand(),
  republishCommand(),
  resolveCommand(),
  adminCommand(),
  temporalCommand(),
]) {
  program.addCommand(command.copyInheritedSettings(program));
}

try {
  await program.parseAsync();
} catch (error) {
  // Our own refusals say what to do; anything else is a defect, or the user's module, and its stack says where.
  const text =
    error instanceof OnefoldError ? `${error.code}: ${error.message}` : ((error as Error)?.stack ?? String(error));
  process.stderr.write(`onefold: ${text}\n`);
  process.exit(1);
}
