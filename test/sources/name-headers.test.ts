import fc from 'fast-check';
import { expect, test } from 'vitest';
import { custom } from '../../src/sources/custom.js';
import type { Source } from '../../src/sources/define-source.js';
import { fromEnv } from '../../src/sources/from-env.js';
import { signedHeaders } from '../../src/sources/signed-headers.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { now, sources } from './signed-deliveries.js';

const events = { 'order.paid': types<unknown>() };

const all: Readonly<Record<string, Source>> = {
  ...sources,
  either: standardWebhooks('either', {
    events,
    secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
    headers: 'either',
  }),
  typedByHeader: custom('typed', {
    events,
    verify: 'unverified',
    identity: { field: 'id' },
    type: { header: 'X-Type' },
  }),
  hashed: custom('hashed', { events, verify: 'unverified', identity: 'whole-body-hash', type: { field: 'type' } }),
};

/** What of an event only its provider's headers say, beside id and type. */
const scope = { 'x-shopify-shop-domain': 'onefold-example.myshopify.com' };

const headerText = fc.stringMatching(/^[A-Za-z0-9._:/@-]{1,60}$/);

test.each(Object.keys(all))('without a signature %s reads the same event as with one', (name) => {
  const source = all[name] as Source;
  fc.assert(
    fc.property(headerText, fc.constantFrom('order.paid', 'issues'), fc.jsonValue(), (id, type, data) => {
      const rawBody = Buffer.from(JSON.stringify({ id, type, data }));
      const url = 'https://receiver.example/hook';
      const signed = signedHeaders(source, { body: rawBody, id, type, now });
      const request = { method: 'POST', url, rawBody };
      const expected = source.identify({ ...request, headers: signed });
      const read = source.identify({ ...request, headers: { ...scope, ...source.preset.nameHeaders({ id, type }) } });
      expect(expected.ok).toBe(true);
      const { occurredAt: _at, deliveryId: _delivery, scope: _scope, ...identity } = expected as any;
      expect(read).toMatchObject(identity);
    }),
    { numRuns: 50 },
  );
});

test('naming an event needs no secret', () => {
  const source = standardWebhooks('shop', { events, secrets: fromEnv('NOT_SET_ANYWHERE') });
  expect(source.preset.nameHeaders({ id: 'evt_1' })).toEqual({ 'webhook-id': 'evt_1' });
  expect(() => source.preset.readSecrets()).toThrow(/NOT_SET_ANYWHERE/);
});

test.each(Object.keys(all))('%s names nothing that was not given', (name) => {
  expect((all[name] as Source).preset.nameHeaders({})).toEqual({});
});
