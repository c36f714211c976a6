import { sign as octokitSign, verify as octokitVerify } from '@octokit/webhooks-methods';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HeaderMap } from '../../src/sources/source.js';
import { now, signedDelivery, sources, whsec } from './signed-deliveries.js';

const timestamp = String(now.getTime() / 1000);
const accepts = (judge: () => unknown) => {
  try {
    judge();
    return true;
  } catch {
    return false;
  }
};

beforeEach(() => {
  vi.useFakeTimers({ now, toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each([
  ['standardwebhooks', new StandardWebhook(whsec), sources.standardWebhooks!, 'webhook'],
  ['svix', new SvixWebhook(whsec), sources.svix!, 'svix'],
] as const)('%s as oracle', (_name, oracle, source, family) => {
  const request = (body: Uint8Array, signature: string, time = timestamp) => ({
    method: 'POST',
    url: 'https://receiver.example/shop',
    headers: {
      [`${family}-id`]: 'evt_1',
      [`${family}-timestamp`]: time,
      [`${family}-signature`]: signature,
    } as Record<string, string>,
    rawBody: body,
  });

  it('a delivery that we sign is accepted by the library', () => {
    fc.assert(
      fc.property(fc.json(), (body) => {
        const { rawBody, headers } = signedDelivery(source, body);
        expect(accepts(() => oracle.verify(Buffer.from(rawBody), headers as Record<string, string>))).toBe(true);
      }),
    );
  });

  it('a delivery that the library signs is accepted', () => {
    fc.assert(
      fc.property(fc.json(), (body) => {
        const delivery = request(Buffer.from(body), oracle.sign('evt_1', now, body));
        expect(source.verify(delivery, { now })).toMatchObject({ ok: true });
      }),
    );
  });

  it('any signature header is judged as the library judges it', () => {
    const right = oracle.sign('evt_1', now, '{}').slice('v1,'.length);
    const entry = fc.tuple(fc.constantFrom('v1', 'v1a', 'v2', ''), fc.constantFrom(right, right.slice(1), '', 'abc'));
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), (entries) => {
        const delivery = request(Buffer.from('{}'), entries.map(([version, text]) => `${version},${text}`).join(' '));
        const ours = source.verify(delivery, { now }).ok;
        expect(ours).toBe(accepts(() => oracle.verify(Buffer.from('{}'), delivery.headers)));
      }),
    );
  });

  it('a timestamp with letters behind it, which the library accepts, is refused', () => {
    const delivery = request(Buffer.from('{}'), oracle.sign('evt_1', now, '{}'), `${timestamp}abc`);
    expect(accepts(() => oracle.verify(Buffer.from('{}'), delivery.headers))).toBe(true);
    expect(source.verify(delivery, { now })).toMatchObject({ ok: false, code: 'signature_malformed' });
  });

  it('a signed body that is not UTF-8, which the library refuses, is verified, and then refused as malformed', () => {
    const body = Buffer.from([0x22, 0xff, 0x22]);
    const delivery = signedDelivery(source, body);
    expect(accepts(() => oracle.verify(body, delivery.headers as Record<string, string>))).toBe(false);
    expect(source.verify(delivery, { now })).toMatchObject({ ok: true });
    expect(source.identify(delivery)).toMatchObject({ ok: false, code: 'body_malformed' });
  });
});

describe('stripe as oracle', () => {
  const { webhooks } = new Stripe('sk_test_fake');
  const secret = 'whsec_fake_tv1_secret';
  const source = sources.stripe!;
  const request = (payload: string, headers: HeaderMap) => ({
    method: 'POST',
    url: 'https://receiver.example/payments',
    headers,
    rawBody: Buffer.from(payload),
  });

  it('a delivery that we sign is accepted by the library, and one that the library signs is accepted', () => {
    fc.assert(
      fc.property(fc.json(), (payload) => {
        const { headers } = signedDelivery(source, payload);
        expect(accepts(() => webhooks.constructEvent(payload, headers['stripe-signature'] as string, secret))).toBe(
          true,
        );

        const header = webhooks.generateTestHeaderString({ payload, secret, timestamp: Number(timestamp) });
        expect(source.verify(request(payload, { 'stripe-signature': header }), { now })).toMatchObject({ ok: true });
      }),
    );
  });

  it('a timestamp in the future, which the library accepts, is refused', () => {
    const header = webhooks.generateTestHeaderString({ payload: '{}', secret, timestamp: Number(timestamp) + 301 });
    expect(accepts(() => webhooks.constructEvent('{}', header, secret))).toBe(true);
    expect(source.verify(request('{}', { 'stripe-signature': header }), { now })).toMatchObject({
      code: 'timestamp_too_new',
    });
  });
});

describe('@octokit/webhooks-methods as oracle', () => {
  const secret = 'fake-hub-secret';

  it('a delivery that we sign is accepted by the library, and one that the library signs is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (payload) => {
        const delivery = signedDelivery(sources.github!, payload);
        const ours = delivery.headers['x-hub-signature-256'] as string;
        expect(await octokitVerify(secret, payload, ours)).toBe(true);

        const theirs = { ...delivery.headers, 'x-hub-signature-256': await octokitSign(secret, payload) };
        expect(sources.github!.verify({ ...delivery, headers: theirs }, { now })).toMatchObject({ ok: true });
      }),
    );
  });
});
