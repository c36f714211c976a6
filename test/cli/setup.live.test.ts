import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SetupOutcome } from '../../src/operations/setup/setup-namespace.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
const namespace = `setup-${randomUUID()}`;
const env = { TEMPORAL_NAMESPACE: namespace };
const day = 86_400_000;

beforeAll(async () => {
  stage = await createCliStage();
}, 60_000);
afterAll(() => stage?.close());

async function setup(...args: string[]): Promise<{ code: number | null; outcome: SetupOutcome; stderr: string }> {
  const { code, stdout, stderr } = await stage.run(['setup', '--json', ...args], { env });
  return { code, stderr, outcome: stdout === '' ? (undefined as never) : JSON.parse(stdout) };
}

test('a namespace that is not there is an error, since its name may be misspelt', async () => {
  const { code, stderr } = await setup();
  expect(code).toBe(1);
  expect(stderr).toContain(`config_invalid: Temporal has no namespace '${namespace}'`);
});

test('asked for, it is made; nothing is before that in a dry run', async () => {
  const dry = await setup('--create-namespace', '--dry-run');
  expect(dry.outcome).toMatchObject({ created: true, ok: false });
  expect((await setup()).stderr).toContain('has no namespace');

  const { code, outcome } = await setup('--create-namespace');
  expect(code).toBe(0);
  expect(outcome).toMatchObject({
    namespace,
    created: true,
    ok: true,
    retention: { beforeMs: 7 * day, nowMs: 7 * day, state: 'kept', tooShortFor: [] },
  });
  expect(outcome.searchAttributes.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'OnefoldSource added',
    'OnefoldType added',
    'OnefoldState added',
    'OnefoldBusinessKey added',
    'OnefoldEndpoint added',
  ]);
}, 60_000);

test('repeated, it changes nothing and says so', async () => {
  const { code, outcome } = await setup('--create-namespace');
  expect(code).toBe(0);
  expect(outcome.created).toBe(false);
  expect(new Set(outcome.searchAttributes.map(({ state }) => state))).toEqual(new Set(['registered']));
});

test('the retention is set where asked for, and judged in any case', async () => {
  const set = await setup('--retention', '1d');
  expect(set.outcome.retention).toMatchObject({ beforeMs: 7 * day, nowMs: day, state: 'set' });
  const text = await stage.run(['setup'], { env });
  expect(text.code).toBe(1);
  expect(text.stdout).toContain("retention 24 hours\n  too short for redeliveries of 'shop'");
  expect(text.stdout).toContain('onefold setup --retention 7d would do');
  expect((await setup('--retention', '59m')).stderr).toContain('config_invalid: retention: at least 1 hour');
  expect((await stage.run(['setup', '--retention', 'soon'], { env })).code).toBe(2);
}, 60_000);
