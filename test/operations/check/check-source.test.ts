import { expect, test } from 'vitest';
import type { Effect } from '../../../src/effects/effect.js';
import { checkSource, type Source } from '../../../src/operations/check/check-source.js';
import { custom } from '../../../src/sources/custom.js';
import type { CustomIdentity } from '../../../src/sources/custom-identity.js';
import { github } from '../../../src/sources/github.js';
import { shopify } from '../../../src/sources/shopify.js';
import type { SourceSettings } from '../../../src/sources/source.js';
import { standardWebhooks } from '../../../src/sources/standard-webhooks.js';
import { stripe } from '../../../src/sources/stripe.js';
import { types } from '../../../src/sources/types.js';

const secrets = 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=';
const events = { paid: types<unknown>(), moved: types<unknown>() };
const record = 'all';

function idsOf(source: Source, effects: readonly Effect[] = []): string[] {
  return checkSource(source, effects).findings.map(({ id }) => id);
}

/** Made with another version of the package, whose facts or rules are others. */
function withSettings(source: Source, settings: Partial<SourceSettings>): Source {
  return { ...source, settings: { ...source.settings, ...settings } };
}

test.each<[string, Source, { from: string; signed: boolean; workflowId: string }]>([
  [
    'standard webhooks',
    standardWebhooks('shop', { secrets, events }),
    { from: 'the header webhook-id or svix-id', signed: true, workflowId: 'event//shop/<event id>' },
  ],
  [
    'a family of them, and a tenant',
    standardWebhooks('shop', { secrets, events, headers: 'svix', tenant: 'a/b' }),
    { from: 'the header svix-id', signed: true, workflowId: 'event/a%2Fb/shop/<event id>' },
  ],
  [
    'GitHub, and a tenant by function',
    github('code', { secrets, events, tenant: () => 't' }),
    { from: 'the header X-GitHub-Delivery', signed: false, workflowId: 'event/<tenant>/code/<event id>' },
  ],
  [
    'Stripe',
    stripe('money', { secrets, events }),
    { from: "the body's id", signed: true, workflowId: 'event//money/<event id>' },
  ],
  [
    'Shopify',
    shopify('store', { secrets, events }),
    {
      from: 'shop, topic and X-Shopify-Event-Id, else X-Shopify-Webhook-Id',
      signed: false,
      workflowId: 'event//store/<event id>',
    },
  ],
])('%s: where the event identity comes from, and the workflow ID that it becomes', (_what, source, identity) => {
  expect(checkSource(source, []).source.eventIdentity).toEqual(identity);
});

test.each<[CustomIdentity, string]>([
  [{ header: 'X-Id' }, 'the header x-id'],
  [{ header: 'X-Id', field: 'event.id' }, "the header x-id, else the body's event.id"],
  [{ field: 'id', hashOf: ['type', 'at'] }, "the body's id, else a hash of the body's type, at"],
  ['whole-body-hash', 'a hash of the whole body'],
])('the identity of a custom source is told as configured: %j', (identity, from) => {
  const erp = custom('erp', { verify: 'unverified', identity, type: { fixed: 'paid' }, events });
  expect(checkSource(erp, []).source.eventIdentity.from).toBe(from);
});

test('each event type says which effects carry it', () => {
  const shop = standardWebhooks('shop', { secrets, events });
  const options = { businessKey: () => 'k', commit: async () => {} };
  const effects = [
    shop.effect('ship', { on: 'paid', ...options }),
    shop.effect('bill', { on: ['paid', 'moved'], ...options }),
  ];
  expect(checkSource(shop, effects).source.events).toEqual([
    { type: 'paid', effects: ['ship', 'bill'] },
    { type: 'moved', effects: ['bill'] },
  ]);
  expect(idsOf(shop, effects)).toEqual([]);
});

test('a source without effects is a warning, unless it records everything', () => {
  const shop = standardWebhooks('shop', { secrets, events });
  expect(checkSource(shop, []).findings).toMatchObject([
    { id: 'source_without_effects', level: 'warning', place: "source 'shop'" },
  ]);
  expect(idsOf(standardWebhooks('shop', { secrets, events, record }))).toEqual([]);
});

test('a deadline beyond the provider, or closer to it than an answer needs, is found on both sides of each bound', () => {
  const settled = github('code', { secrets, events, record, acknowledge: 'settled' });
  const at = (settleWithinMs: number) => idsOf(withSettings(settled, { settleWithinMs }));
  expect(at(9_000)).toEqual([]);
  expect(at(9_001)).toEqual(['settle_close_to_provider']);
  expect(at(10_000)).toEqual(['settle_close_to_provider']);
  expect(at(10_001)).toEqual(['settle_exceeds_provider']);
  const durable = withSettings(settled, { acknowledge: 'durable', settleWithinMs: 60_000 });
  expect(idsOf(durable)).toEqual([]);
  const unknown = stripe('money', { secrets, events, record, acknowledge: 'settled', settleWithin: '5 minutes' });
  expect(idsOf(unknown)).toEqual([]);
});

test('an identity outside the signature that takes another body is a warning', () => {
  expect(idsOf(github('code', { secrets, events, record }))).toEqual([]);
  expect(checkSource(github('code', { secrets, events, record, refuseOtherBody: false }), []).findings).toMatchObject([
    { id: 'identity_unguarded', level: 'warning' },
  ]);
  expect(idsOf(standardWebhooks('shop', { secrets, events, record, refuseOtherBody: false }))).toEqual([]);
});
