import { expect, test } from 'vitest';
import { printCheck } from '../../src/cli/print-check.js';
import { perEvent } from '../../src/effects/declare-effect.js';
import { park } from '../../src/effects/recovery.js';
import { createOnefold } from '../../src/onefold.js';
import { checkConfiguration } from '../../src/operations/check/check-configuration.js';
import { operationsContext } from '../../src/operations/context.js';
import { stripe } from '../../src/sources/stripe.js';
import { types } from '../../src/sources/types.js';

const money = stripe('money', {
  secrets: 'whsec_fake',
  events: { 'charge.succeeded': types<unknown>() },
  record: 'all',
});
const note = money.externalEffect('note', {
  on: 'charge.succeeded',
  businessKey: perEvent,
  perform: async () => undefined,
  recovery: park(),
});

async function printed(effects: readonly (typeof note)[]): Promise<string> {
  const onefold = createOnefold({ sources: [money], effects });
  return printCheck(await checkConfiguration(onefold[operationsContext], { offline: true, graceMs: 10_000 }));
}

test('what nobody knows of a provider is said', async () => {
  const text = await printed([]);
  expect(text).toContain('how long the provider waits is not known');
  expect(text).toContain('charge.succeeded → recorded only');
  expect(text).toMatch(/\nEffects\n─+\n.*\n\nnone\n/);
});

test('an effect whose work nothing finishes says so', async () => {
  const text = await printed([{ ...note, recovery: undefined as never }]);
  expect(text).toMatch(/recovery +none\n/);
  expect(text).toMatch(/after a crash +· NOTHING finishes the work\n/);
  expect(text).toMatch(/\nproblem · recovery_missing · effect 'note'\n/);
});

test('long text goes on under its own beginning, and no line is longer than 110 columns', async () => {
  const lines = (await printed([note])).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(110);
  const first = lines.findIndex((line) => line.includes('next attempt parks it'));
  expect(lines[first]?.indexOf('·')).toBe(21);
  expect(lines[first + 1]).toMatch(/^ {23}\S/);
});

test('the last line sums up, and ends the text', async () => {
  expect(await printed([note])).toMatch(/\n\n1 source and 1 effect checked, servers left out: nothing found\n$/);
});
