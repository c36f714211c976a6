import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
beforeAll(async () => {
  stage = await createCliStage();
});
afterAll(() => stage?.close());

test('five migrations at once bring the ledger up once, and a later one finds it up to date', async () => {
  const migrate = ['migrate', '--schema', 'five_at_once'];
  const ended = await Promise.all(Array.from({ length: 5 }, () => stage.run(migrate)));
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  const [first, ...others] = ended.map(({ stdout }) => stdout).sort();
  expect(first).toMatch(/^applied 0001_ledger\n(applied \w+\n)*\d+ applied\n$/);
  expect(others).toEqual(Array.from({ length: 4 }, () => 'the ledger is up to date\n'));
  expect((await stage.run(migrate)).stdout).toBe('the ledger is up to date\n');
  expect(await stage.sql('SELECT count(*)::int AS rows FROM five_at_once.events')).toEqual([{ rows: 0 }]);
});

test.concurrent.each([
  ['without DATABASE_URL', { DATABASE_URL: undefined }, [], /^onefold: config_missing: DATABASE_URL is not set/],
  ['without PostgreSQL', { DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/x' }, [], /^onefold: ledger_unavailable: /],
  ['with a schema that is no name', {}, ['--schema', 'Not-A-Name'], /^onefold: config_invalid: schema: /],
])('a migration %s is refused with a code and a sentence', async (_how, env, args, message) => {
  const { code, stdout, stderr } = await stage.run(['migrate', ...args], { env });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr).not.toContain('secret');
});

test.concurrent('a worker whose ledger was never migrated ends, and says what to run', async () => {
  const { code, stderr } = await stage.run(['worker'], { env: { ONEFOLD_SCHEMA: 'nobody_made_it' } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^onefold: migration_missing: .*run onefold migrate/m);
});
