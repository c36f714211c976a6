import { custom } from '../../src/sources/custom.js';
import type { Source } from '../../src/sources/define-source.js';
import { github } from '../../src/sources/github.js';
import { shopify } from '../../src/sources/shopify.js';
import type { DeliveryRequest } from '../../src/sources/source.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { stripe } from '../../src/sources/stripe.js';
import { types } from '../../src/sources/types.js';

/** The clock of the tests about sources. */
export const now = new Date('2026-02-03T04:05:06Z');

/** Made up, like every secret of these tests. */
export const whsec = 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=';

const events = { 'order.paid': types<unknown>() };

/** One source of each preset, with a secret of its own. */
export const sources: Readonly<Record<string, Source>> = {
  standardWebhooks: standardWebhooks('shop', { events, secrets: whsec }),
  svix: standardWebhooks('users', { events, secrets: whsec, headers: 'svix' }),
  github: github('code', { events, secrets: 'fake-hub-secret' }),
  stripe: stripe('payments', { events, secrets: 'whsec_fake_tv1_secret' }),
  shopify: shopify('store', { events, secrets: 'shpss_fake_secret' }),
  custom: custom('erp', {
    events,
    verify: {
      hmac: 'sha512',
      header: 'X-Signature',
      encoding: 'hex',
      prefix: 'sha512=',
      timestampHeader: 'X-Time',
      signedContent: '{id}:{timestamp}:{body}',
      secrets: 'fake-erp-secret',
    },
    identity: { header: 'X-Event-Id' },
    type: { field: 'type' },
  }),
};

/** A delivery as the provider of the source would send it. */
export function signedDelivery(
  source: Source,
  body: string | Uint8Array = '{"id":"evt_1","type":"order.paid","data":{"order":"ord_1","amount":1.50}}',
  headers: Readonly<Record<string, string>> = {},
): DeliveryRequest {
  const rawBody = Buffer.from(body);
  const signed = source.preset.sign({ body: rawBody, id: 'evt_1', type: 'order.paid', now });
  return { method: 'POST', url: 'https://receiver.example/hook', headers: { ...signed, ...headers }, rawBody };
}
