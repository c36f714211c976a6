import { expect, test } from 'vitest';
import { z } from 'zod';
import { publications } from '../../src/publisher/publications.js';
import { types } from '../../src/sources/types.js';

const events = { 'order.confirmed': z.object({ order: z.string() }), 'user.created': types<{ user: string }>() };

test('a declaration keeps its types, and the schedule of those that have one', () => {
  const declared = publications({
    events,
    retry: { 'order.confirmed': { schedule: ['5 seconds', 60_000], maximumElapsed: '2 hours' } },
  });
  expect(Object.keys(declared.events)).toEqual(['order.confirmed', 'user.created']);
  expect([...declared.budgets]).toEqual([['order.confirmed', { pausesMs: [5000, 60_000], elapsedMs: 7_200_000 }]]);
});

test('an empty schedule means one attempt, and what is left out means the default', () => {
  const { budgets } = publications({
    events,
    retry: { 'order.confirmed': { schedule: [] }, 'user.created': { maximumElapsed: '1 hour' } },
  });
  expect(budgets.get('order.confirmed')).toEqual({ pausesMs: [], elapsedMs: null });
  expect(budgets.get('user.created')).toEqual({ pausesMs: null, elapsedMs: 3_600_000 });
});

test.each<[string, unknown, RegExp]>([
  ['no types', { events: {} }, /publications\.events: name at least one/],
  ['no schema', { events: { a: 'text' } }, /events\['a'\]: expected a Standard Schema/],
  ['a type of another form', { events: { 'a b': events['user.created'] } }, /events\['a b'\]: type: expected words/],
  ["Onefold's own type", { events: { 'endpoint.gone': events['user.created'] } }, /begins with 'endpoint\.'/],
  ['a misspelt option', { events, retries: {} }, /unknown option 'retries'; known are events, retry/],
  ['a misspelt type', { events, retry: { 'order.confirmd': {} } }, /did you mean 'order\.confirmed'/],
  ['a misspelt field', { events, retry: { 'user.created': { shedule: [] } } }, /did you mean 'schedule'/],
  ['no list', { events, retry: { 'user.created': { schedule: '1 hour' } } }, /schedule: expected a list/],
  ['too long a list', { events, retry: { 'user.created': { schedule: Array(51).fill(1) } } }, /at most 50 pauses/],
  [
    'a pause of nothing',
    { events, retry: { 'user.created': { schedule: [1, 0] } } },
    /schedule\[1\]: expected a duration/,
  ],
  ['a pause of months', { events, retry: { 'user.created': { schedule: ['31 days'] } } }, /at most 30 days/],
  [
    'an elapsed time of months',
    { events, retry: { 'user.created': { maximumElapsed: '31 days' } } },
    /at most 30 days/,
  ],
])('%s is refused where it stands', (_, options, message) => {
  expect(() => publications(options as never)).toThrow(message);
  expect(() => publications(options as never)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
});
