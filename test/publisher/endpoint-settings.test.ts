import { expect, test } from 'vitest';
import {
  checkChanges,
  checkNewSettings,
  type EndpointChanges,
  type EndpointSettings,
} from '../../src/publisher/endpoint-settings.js';

const least: EndpointSettings = { url: 'https://shop.example/hooks', types: ['order.*'] };

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    expect(code).toBe('endpoint_invalid');
    return message;
  }
  throw new Error('it was taken');
};

test('URL and types are enough, and everything else has its default', () => {
  expect(checkNewSettings(least)).toEqual({
    settings: {
      url: 'https://shop.example/hooks',
      types: ['order.*'],
      description: '',
      headers: {},
      rateLimit: null,
      concurrency: 10,
      timeoutMs: null,
      pausesMs: null,
      elapsedMs: null,
      atMostOnce: false,
    },
  });
});

test('durations are read in words, a type that stands twice is taken once, and no pauses mean one attempt', () => {
  const { settings } = checkNewSettings({
    ...least,
    types: ['order.paid', '*', 'order.paid'],
    timeout: '5 seconds',
    schedule: ['5 seconds', 60_000, '2 hours'],
    maximumElapsed: '30 days',
    rateLimit: 0.1,
    concurrency: 1,
    atMostOnce: true,
  });
  expect(settings).toMatchObject({
    types: ['order.paid', '*'],
    timeoutMs: 5_000,
    pausesMs: [5_000, 60_000, 7_200_000],
    elapsedMs: 30 * 86_400_000,
    rateLimit: 0.1,
    concurrency: 1,
    atMostOnce: true,
  });
  expect(checkNewSettings({ ...least, schedule: [] }).settings.pausesMs).toEqual([]);
});

test.each<[string, unknown, string]>([
  ['url', undefined, 'url: it is missing'],
  ['url', '', 'url: expected text'],
  ['url', `https://shop.example/${'a'.repeat(2030)}`, 'url: at most 2048 characters'],
  ['types', undefined, 'types: they are missing'],
  ['types', [], 'types: expected a list'],
  ['types', 'order.*', 'types: expected a list'],
  ['types', ['order.**'], 'types: expected a type'],
  ['types', Array.from({ length: 101 }, (_, n) => `t${n}`), 'types: at most 100'],
  ['description', 'd'.repeat(501), 'description: at most 500 characters'],
  ['description', 7, 'description: expected text'],
  ['headers', { host: 'x' }, "headers: 'host' cannot be set"],
  ['rateLimit', 0.09, 'rateLimit: expected 0.1 to 10000'],
  ['rateLimit', 10_001, 'rateLimit: expected'],
  ['rateLimit', '5', 'rateLimit: expected'],
  ['rateLimit', Number.NaN, 'rateLimit: expected'],
  ['concurrency', 0, 'concurrency: expected a whole number from 1 to 100'],
  ['concurrency', 101, 'concurrency: expected'],
  ['concurrency', 1.5, 'concurrency: expected'],
  ['timeout', '999 ms', 'timeout: at least 1 second'],
  ['timeout', '61 seconds', 'timeout: at most 60 seconds'],
  ['timeout', 'soon', 'timeout: expected a duration'],
  ['timeout', '', 'timeout: expected a duration'],
  ['timeout', '1'.repeat(101), 'timeout: expected a duration'],
  ['schedule', '5 seconds', 'schedule: expected a list'],
  ['schedule', Array.from({ length: 51 }, () => '1 second'), 'schedule: at most 50 pauses'],
  ['schedule', ['5 seconds', '31 days'], 'schedule: pause 2: at most 30 days'],
  ['schedule', [0], 'schedule: pause 1: expected a duration'],
  ['schedule', [''], 'schedule: pause 1: expected a duration'],
  ['maximumElapsed', '', 'maximumElapsed: expected a duration'],
  ['maximumElapsed', 0.1, 'maximumElapsed: expected a duration such as'],
  ['maximumElapsed', '31 days', 'maximumElapsed: at most 30 days'],
  ['atMostOnce', 'yes', 'atMostOnce: expected true or false'],
  ['secret', 'whsec_c2hvcnQ=', 'secret: it decodes to 5 bytes; Standard Webhooks asks for 24 to 64'],
  ['ratelimit', 5, "unknown option 'ratelimit'; did you mean 'rateLimit'?"],
])('%s = %j is refused by name', (name, value, message) => {
  expect(refusal(() => checkNewSettings({ ...least, [name]: value }))).toContain(message);
});

test('the edges are taken', () => {
  for (const edge of [
    { timeout: '1 second' },
    { timeout: '60 seconds' },
    { rateLimit: 10_000 },
    { concurrency: 100 },
    { schedule: Array.from({ length: 50 }, () => '1 second') },
    { description: 'd'.repeat(500) },
    { types: Array.from({ length: 100 }, (_, n) => `t${n}`) },
  ]) {
    expect(() => checkNewSettings({ ...least, ...edge })).not.toThrow();
  }
});

test('a change speaks of what it names alone, and null takes a setting back to its default', () => {
  expect(checkChanges({ rateLimit: 5 })).toEqual({ rateLimit: 5 });
  expect(
    checkChanges({
      description: null,
      headers: null,
      rateLimit: null,
      concurrency: null,
      timeout: null,
      schedule: null,
      maximumElapsed: null,
      atMostOnce: null,
    }),
  ).toEqual({
    description: '',
    headers: {},
    rateLimit: null,
    concurrency: 10,
    timeoutMs: null,
    pausesMs: null,
    elapsedMs: null,
    atMostOnce: false,
  });
});

test('neither URL nor types can be taken back, a secret is not changed so, and nothing is no change', () => {
  expect(refusal(() => checkChanges({ url: null } as unknown as EndpointChanges))).toContain('url: expected text');
  expect(refusal(() => checkChanges({ types: null } as unknown as EndpointChanges))).toContain(
    'types: expected a list',
  );
  expect(refusal(() => checkChanges({ secret: 'whsec_' } as unknown as EndpointChanges))).toContain('unknown option');
  expect(refusal(() => checkChanges({}))).toContain('nothing to change');
  expect(refusal(() => checkChanges({ rateLimit: undefined } as unknown as EndpointChanges))).toContain(
    'nothing to change',
  );
});
