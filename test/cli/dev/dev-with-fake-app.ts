// `onefold dev` with the fake app in place of `onefold run`. Arguments are those of the command.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { devCommand } from '../../../src/cli/dev.js';
import { OnefoldError } from '../../../src/errors.js';

const fakeApp = fileURLToPath(new URL('./fake-app.mjs', import.meta.url));
const command = devCommand((configFile, environment) =>
  spawn(process.execPath, [fakeApp, configFile], {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  }),
);
try {
  await command.parseAsync(process.argv.slice(2), { from: 'user' });
} catch (error) {
  console.error(error instanceof OnefoldError ? `${error.code}: ${error.message}` : error);
  process.exit(1);
}
