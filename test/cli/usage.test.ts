import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { onefold } from './support/onefold-cli.js';

// A process is started in half a second, and in several where the machine is busy.
vi.setConfig({ testTimeout: 30_000 });

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

test.concurrent.each(['dev', 'receiver', 'worker', 'run', 'migrate', 'check', 'send', 'replay'])(
  '`onefold %s --help` says what it does and how it is used',
  async (command) => {
    const { code, stdout, stderr } = await onefold([command, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: onefold ${command} `));
    expect(stdout).toContain('--help');
  },
);

test('the help of the executable names every command, the exit codes and where the servers come from', async () => {
  const { code, stdout } = await onefold(['--help']);
  expect(code).toBe(0);
  for (const word of ['dev', 'receiver', 'worker', 'run', 'migrate', 'send', 'replay', 'Exit codes', 'DATABASE_URL']) {
    expect(stdout).toContain(word);
  }
  expect((await onefold(['--version'])).stdout).toBe(`${version}\n`);
});

test.concurrent.each([
  ['no command', [], 'Usage: onefold'],
  ['an unknown command', ['recieve'], "unknown command 'recieve'"],
  ['an unknown option', ['worker', '--threads', '2'], "unknown option '--threads'"],
  ['a command that takes no argument with one', ['migrate', 'now'], 'too many arguments'],
  ['a port that is none', ['receiver', '--port', '80800'], 'a port from 0'],
  ['a number that is none', ['worker', '--concurrency', 'many'], 'a whole number from 1 to 1000'],
  ['a duration that is none', ['worker', '--grace', 'soon'], 'a duration such as'],
  ['a grace beyond an hour', ['worker', '--grace', '2h'], 'grace: at most 1 hour'],
  ['a pause that a timer cannot hold', ['send', 'f', '--source', 's', '--every', '30d'], 'every: at most 1 hour'],
  ['a replay without a reason', ['replay', 'shop/evt_1'], "required option '--reason"],
  ['a replay without an event', ['replay', '--reason', 'r'], 'name an event, or a publication'],
  [
    'a replay of both',
    ['replay', 'shop/evt_1', '--publication', 'p', '--reason', 'r'],
    'name an event, or a publication',
  ],
  [
    'an event with an endpoint',
    ['replay', 'shop/evt_1', '--endpoint', 'ep_1', '--reason', 'r'],
    'are for publications',
  ],
  ['a publication with --rekey', ['replay', '--publication', 'p', '--rekey', '--reason', 'r'], '--rekey is for events'],
  ['deliveries in no state', ['deliveries', 'list', '--state', 'lost'], 'Allowed choices are queued'],
  ['deliveries since no time', ['deliveries', 'list', '--since', 'yesterday'], 'a time such as'],
  ['deliveries since a number', ['deliveries', 'list', '--since', '3'], 'with its unit, such as 3s, 3m or 3h'],
  ['a grace without a unit', ['worker', '--grace', '30'], 'with its unit, such as 30s'],
  ['a pause without a unit', ['send', 'f', '--source', 's', '--every', '5'], 'with its unit, such as 5s'],
  ['a recovery without a reason', ['endpoints', 'recover', 'ep_1', '--since', '1h'], "required option '--reason"],
  ['a recovery without a time', ['endpoints', 'recover', 'ep_1', '--reason', 'r'], "required option '--since"],
  ['a republishing without an identity', ['republish', 'p', '--reason', 'r'], "required option '--as"],
  ['a send without a source', ['send', 'event.json'], "required option '--source"],
])('%s is wrong usage: exit code 2, and the help', async (_what, args, message) => {
  const { code, stdout, stderr } = await onefold(args);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain(message);
  expect(stderr).toContain('Usage: onefold');
});
