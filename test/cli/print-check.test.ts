import { expect, test } from 'vitest';
import { printCheck } from '../../src/cli/print-check.js';
import { perEvent } from '../../src/effects/declare-effect.js';
import { park } from '../../src/effects/recovery.js';
import { createOnefold } from '../../src/onefold.js';
import { checkConfiguration } from '../../src/operations/check/check-configuration.js';
import { operationsContext } from '../../src/operations/context.js';
import { publications } from '../../src/publisher/publications.js';
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
  expect(lines[first]?.indexOf('·')).toBe(23);
  expect(lines[first + 1]).toMatch(/^ {25}\S/);
});

test('the last line sums up, and ends the text', async () => {
  expect(await printed([note])).toMatch(/\n\n1 source and 1 effect checked, servers left out: nothing found\n$/);
});

async function publishing(retention?: number): Promise<string> {
  const onefold = createOnefold({
    sources: [money],
    effects: [],
    publications: publications({
      events: { 'order.shipped': types<unknown>(), 'order.note': types<unknown>() },
      retry: { 'order.note': { schedule: [] } },
    }),
  });
  const report = await checkConfiguration(onefold[operationsContext], { offline: true, graceMs: 10_000 });
  const namespace = { namespace: 'default', retentionMs: retention ?? null, searchAttributes: [] };
  return printCheck(retention === undefined ? report : { ...report, namespace });
}

test('what is published names its two identities, its budgets, and what goes on after a crash', async () => {
  const text = await publishing();
  const flat = text.replace(/\s+/g, ' ');
  expect(flat).toContain('publication identity tenant, endpoint, and the `publication` that is given → publication/');
  expect(flat).toContain('event identity webhook-id: the `eventId` that is given');
  expect(flat).toContain('order.shipped → 11 attempts over 3.1 days, given up after 5 days');
  expect(flat).toContain('order.note → one attempt, given up after 5 days');
  for (const point of ['Queued', 'Taken by a relay', 'Started', 'Attempt under way', 'Answered']) {
    expect(flat).toMatch(new RegExp(`· ${point}[:,]`));
  }
  expect(text).toMatch(/\n1 source, 0 effects and 2 published types checked, servers left out: nothing found\n$/);
  expect(flat).toContain('the endpoints and what opens their secrets, the queue of deliveries');
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
});

test('a retention below the budget of a delivery is said to be harmless, and why', async () => {
  const harmless = 'That is less than the budget of 5 days, and harmless: what is under way is not forgotten';
  const flat = async (days: number) => (await publishing(days * 86_400_000)).replace(/\s+/g, ' ');
  expect(await flat(4)).toContain(harmless);
  expect(await flat(5)).not.toContain('harmless');
});
