import { expect, test } from 'vitest';
import { thrownAt } from '../../src/activities/thrown-at.js';
import { PermanentError } from '../../src/effects/errors.js';
import { OnefoldError } from '../../src/errors.js';

const secret = 'card 4242-4242, /tmp';
const here = /^test\/activities\/thrown-at\.test\.ts:\d+$/;

/** PostgreSQL's error as `pg` makes it. */
function databaseError(message: string): Error {
  return Object.assign(new Error(message), { name: 'error', code: '23505', severity: 'ERROR' });
}

test('an error is told by its name and the line of the code that threw it', () => {
  expect(thrownAt(new RangeError('out of range'))).toEqual({ error: 'RangeError', at: expect.stringMatching(here) });
  expect(thrownAt(new PermanentError('no'))).toMatchObject({
    error: 'PermanentError',
    at: expect.stringMatching(here),
  });
});

test("PostgreSQL's state stands beside its error's name", () => {
  expect(thrownAt(databaseError('duplicate key')).error).toBe('error 23505');
});

test('frames of dependencies and of Node are passed over', () => {
  const error = new Error('x');
  const file = new URL(import.meta.url).pathname;
  error.stack = [
    'Error: x',
    '    at Client.query (/app/node_modules/pg/lib/client.js:1:1)',
    '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
    '    at async run (file:///app/node_modules/onefold/dist/ledger/pg-database.js:9:9)',
    `    at async commit (file://${file}:12:7)`,
  ].join('\n');
  expect(thrownAt(error).at).toBe('test/activities/thrown-at.test.ts:12');
});

test('a refusal of our own says nothing, and what caused it stands for it', () => {
  expect(thrownAt(new OnefoldError('worker_shutdown', 'stopping'))).toEqual({});
  const cause = databaseError('locked');
  expect(thrownAt(new OnefoldError('claim_waiting', 'held', { cause })).error).toBe('error 23505');
});

test('what is thrown and no error is told by its kind', () => {
  expect(thrownAt(secret)).toEqual({ error: 'string' });
  expect(thrownAt(null)).toEqual({ error: 'object' });
});

const forged = `x\n    at ${secret} (/etc/passwd:1:1)\n    at pay (/srv/4242-4242.ts:42:42)`;
test.each([
  ['a message', new Error(secret)],
  ['a message that spells frames', new Error(forged)],
  ['a name', Object.assign(new Error('x'), { name: secret })],
  ['a message that was changed after the stack was made', changed(new Error(forged))],
  ['a stack that was made by hand', Object.assign(new Error('x'), { stack: `${secret}\n    at ${secret}:1:1` })],
  ['a cause', new Error('x', { cause: new Error(secret) })],
  ['a state', Object.assign(new Error('x'), { code: '4242-', severity: secret })],
])('a value of the payload in %s never reaches the line', (_where, error) => {
  expect(JSON.stringify(thrownAt(error))).not.toMatch(/4242-|card/);
});

function changed(error: Error): Error {
  error.message = 'mended';
  return error;
}
