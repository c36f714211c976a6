import { afterEach, describe, expect, it } from 'vitest';
import { custom } from '../../src/sources/custom.js';
import { fromEnv } from '../../src/sources/from-env.js';
import { github } from '../../src/sources/github.js';
import type { Secrets } from '../../src/sources/secrets.js';
import { shopify } from '../../src/sources/shopify.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { stripe } from '../../src/sources/stripe.js';
import { types } from '../../src/sources/types.js';
import { now, signedDelivery, whsec } from './signed-deliveries.js';

const events = { any: types<unknown>() };
const variable = 'ONEFOLD_TEST_SECRETS';
afterEach(() => {
  delete process.env[variable];
});

const presets = {
  standardWebhooks: (secrets: Secrets) => standardWebhooks('shop', { events, secrets }),
  github: (secrets: Secrets) => github('shop', { events, secrets }),
  stripe: (secrets: Secrets) => stripe('shop', { events, secrets }),
  shopify: (secrets: Secrets) => shopify('shop', { events, secrets }),
  custom: (secrets: Secrets) =>
    custom('shop', {
      events,
      verify: { hmac: 'sha256', header: 'x-signature', encoding: 'hex', secrets },
      identity: { field: 'id' },
      type: { field: 'type' },
    }),
};

function failure(act: () => unknown): { code?: string; message?: string } {
  try {
    act();
    return {};
  } catch (error) {
    return error as { code: string; message: string };
  }
}

describe.each(Object.entries(presets))('the secrets of %s', (_name, make) => {
  it.each([
    [[''], 'secret_invalid'],
    [['  \n'], 'secret_invalid'],
    [[whsec, ''], 'secret_invalid'],
    [[`${whsec}\n`], 'secret_invalid'],
    [[], 'config_missing'],
    ['', 'secret_invalid'],
    [undefined as unknown as string, 'config_missing'],
    [[undefined as unknown as string], 'secret_invalid'],
  ])('%j is refused with %s, naming the source', (secrets, code) => {
    const refused = failure(() => make(secrets).preset.readSecrets());
    expect(refused).toMatchObject({ code, message: expect.stringContaining("source 'shop'") });
    expect(refused.message).not.toContain(whsec.slice(6, 20));
  });

  it('a missing variable is named, on first use and not when the source is made', () => {
    const source = make(fromEnv(variable));
    const refused = failure(() => source.preset.readSecrets());
    expect(refused).toMatchObject({ code: 'config_missing' });
    expect(refused.message).toBe(
      `source 'shop' needs its secrets in the environment variable ${variable}, which is not set`,
    );
    expect(failure(() => source.verify(signedDelivery(make(whsec)), { now }))).toMatchObject({
      code: 'config_missing',
    });
  });

  it('an empty variable is told apart from a missing one', () => {
    process.env[variable] = ' , ';
    expect(failure(() => make(fromEnv(variable)).preset.readSecrets()).message).toContain('which is empty');
  });

  it('a variable that is set later is found, and its secrets are separated by commas or white space', () => {
    const source = make(fromEnv(variable));
    expect(failure(() => source.preset.readSecrets())).toMatchObject({ code: 'config_missing' });
    process.env[variable] = `whsec_${'b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDA='},\n ${whsec}`;
    expect(source.verify(signedDelivery(make(whsec), '{"id":"evt_1"}'), { now })).toEqual({ ok: true, secret: 1 });
  });

  it('the verdict counts which secret matched', () => {
    const source = make(['whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDA=', whsec]);
    expect(source.verify(signedDelivery(make(whsec)), { now })).toEqual({ ok: true, secret: 1 });
  });
});

describe('the keys of Standard Webhooks', () => {
  const bytes = (length: number) => `whsec_${Buffer.alloc(length, 7).toString('base64')}`;

  it('a key of 16 bytes is taken, one of 15 is refused', () => {
    expect(failure(() => presets.standardWebhooks(bytes(16)).preset.readSecrets())).toEqual({});
    expect(failure(() => presets.standardWebhooks(bytes(15)).preset.readSecrets())).toMatchObject({
      code: 'secret_invalid',
    });
  });

  it.each([
    ['whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=!', /is not base64/],
    ['whsec_b25lZm9sZC1mYWtl LWtleS1mb3ItdGVzdHMtMDE=', /is not base64/],
    // The last character carries two bits that must be zero; the same key would have four spellings.
    ['whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDF=', /is not base64/],
    ['whpk_b25lZm9sZA==', /Ed25519 public key of 32 bytes/],
    ['whsk_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=', /private key/],
    ['v1a,whpk_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=', /label of a signature/],
  ])('%s is refused, and the message says why', (secret, why) => {
    expect(() => presets.standardWebhooks(secret).preset.readSecrets()).toThrow(why);
  });

  it('the message says which of several secrets is at fault, and where they stand', () => {
    process.env[variable] = `${whsec},whsec_short`;
    expect(failure(() => presets.standardWebhooks(fromEnv(variable)).preset.readSecrets()).message).toContain(
      `secret 2 of 2 in ${variable}`,
    );
  });

  it('a source with public keys only verifies and cannot sign', () => {
    const source = presets.standardWebhooks('whpk_gRnl8jbPUcyPvcpW3WsPOOIR1mcT3JuCSARQPK79tuU=');
    expect(failure(() => signedDelivery(source))).toMatchObject({ code: 'secret_invalid' });
  });
});

it('an API key of Stripe is refused as a signing secret', () => {
  expect(() => presets.stripe('sk_test_fake').preset.readSecrets()).toThrow(/is an API key/);
});

it('fromEnv needs a name', () => {
  expect(failure(() => fromEnv(' '))).toMatchObject({ code: 'config_invalid' });
});
