import { readFileSync } from 'node:fs';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { signedMessageHeaders } from '../../src/publisher/sign-message.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';

const { given } = JSON.parse(
  readFileSync(new URL('../cases/same-id-fresh-signature-on-each-attempt.json', import.meta.url), 'utf8'),
);
const { id: eventId, body: text } = given.message as { id: string; body: string };
const current: string = given.secret;
const next = `whsec_${Buffer.from('another-fake-key-for-the-tests-2').toString('base64')}`;
const body = Buffer.from(text);
const startedAt = Date.parse(given.now);
/** The moments of the three attempts, by the case's waits. */
const moments = [0, 60, 1_260].map((seconds) => startedAt + seconds * 1000);

const keyOf = (secret: string): Buffer => Buffer.from(secret.slice('whsec_'.length), 'base64');
const sign = (nowMs: number, secrets: readonly string[] = [current]) =>
  signedMessageHeaders({ eventId, body, keys: secrets.map(keyOf), nowMs });

type Verify = (secret: string, headers: ReturnType<typeof signedMessageHeaders>) => boolean;

const passes = (judge: () => unknown): boolean => {
  try {
    judge();
    return true;
  } catch {
    return false;
  }
};

const receivers: readonly (readonly [string, Verify])[] = [
  ['standardwebhooks', (secret, headers) => passes(() => new StandardWebhook(secret).verify(text, { ...headers }))],
  ['svix', (secret, headers) => passes(() => new SvixWebhook(secret).verify(text, { ...headers }))],
  [
    'our own source',
    (secret, headers) =>
      standardWebhooks('shop', { secrets: [secret], events: { 'order.confirmed': types<unknown>() } }).verify(
        { method: 'POST', url: 'https://receiver.example/shop', headers: { ...headers }, rawBody: body },
        { now: new Date() },
      ).ok,
  ],
];

beforeEach(() => {
  vi.useFakeTimers({ now: startedAt, toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('same-id-fresh-signature-on-each-attempt', () => {
  it('every attempt has the same id, its own time in whole seconds, and its own signature', () => {
    const attempts = moments.map((moment) => sign(moment + 999));
    expect(attempts.map((headers) => headers['webhook-id'])).toEqual([eventId, eventId, eventId]);
    expect(attempts.map((headers) => headers['webhook-timestamp'])).toEqual(
      moments.map((moment) => String(moment / 1000)),
    );
    expect(new Set(attempts.map((headers) => headers['webhook-signature'])).size).toBe(3);
  });

  it.each(receivers)('%s verifies every attempt, and refuses the last one signed as the first was', (_name, verify) => {
    for (const moment of moments) {
      vi.setSystemTime(moment);
      expect(verify(current, sign(moment))).toBe(true);
    }
    expect(verify(current, sign(startedAt))).toBe(false);
  });

  it.each(receivers)('secret-rotated: %s verifies with either secret, and with no other', (_name, verify) => {
    const rotated = sign(startedAt, [next, current]);
    expect(rotated['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    expect(verify(current, rotated)).toBe(true);
    expect(verify(next, rotated)).toBe(true);
    expect(verify(`whsec_${Buffer.alloc(32).toString('base64')}`, rotated)).toBe(false);
    expect(verify(next, sign(startedAt))).toBe(false);
  });

  it('the newest secret signs first', () => {
    const [first, second] = sign(startedAt, [next, current])['webhook-signature'].split(' ');
    expect(first).toBe(sign(startedAt, [next])['webhook-signature']);
    expect(second).toBe(sign(startedAt, [current])['webhook-signature']);
  });
});

it('a message is never sent unsigned', () => {
  expect(() => sign(startedAt, [])).toThrow('never sent unsigned');
});
