import { createPrivateKey, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Source } from '../../src/sources/define-source.js';
import type { DeliveryRequest } from '../../src/sources/source.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { now, signedDelivery, sources } from './signed-deliveries.js';

/** The headers that stand inside a signature or are one, per preset. */
const signedHeaders: Readonly<Record<string, readonly string[]>> = {
  standardWebhooks: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  svix: ['svix-id', 'svix-timestamp', 'svix-signature'],
  github: ['x-hub-signature-256'],
  stripe: ['stripe-signature'],
  shopify: ['x-shopify-hmac-sha256'],
  custom: ['x-signature', 'x-time', 'x-event-id'],
};

const mutationsPerPreset = 16_000;
/** Ed25519 costs some hundred times as much as an HMAC. */
const mutationsOfV1a = 4_000;

describe('100,000 mutations of one byte', { timeout: 60_000 }, () => {
  it.each(Object.entries(sources))('%s accepts the delivery as signed, and no mutation of it', (name, source) => {
    const delivery = signedDelivery(source);
    expect(source.verify(delivery, { now })).toMatchObject({ ok: true });
    expect(acceptedMutations(source, delivery, signedHeaders[name]!, mutationsPerPreset)).toEqual([]);
  });

  it('v1a accepts the delivery as signed, and no mutation of it', () => {
    const { source, delivery } = ed25519Delivery();
    expect(source.verify(delivery, { now })).toMatchObject({ ok: true });
    expect(acceptedMutations(source, delivery, signedHeaders.standardWebhooks!, mutationsOfV1a)).toEqual([]);
  });
});

/** Changes one byte of the body or of a header per round, and returns what was accepted nevertheless. */
function acceptedMutations(
  source: Source,
  delivery: DeliveryRequest,
  headerNames: readonly string[],
  count: number,
): readonly string[] {
  const random = seededRandom(20_260_203);
  const accepted: string[] = [];
  for (let round = 0; round < count; round++) {
    const place = Math.floor(random() * (headerNames.length + 1));
    const header = headerNames[place];
    const bytes = Buffer.from(
      header === undefined ? delivery.rawBody : Buffer.from(textOf(delivery, header), 'latin1'),
    );
    const at = Math.floor(random() * bytes.length);
    bytes[at] = (bytes[at]! + 1 + Math.floor(random() * 255)) % 256;
    const mutated: DeliveryRequest =
      header === undefined
        ? { ...delivery, rawBody: bytes }
        : { ...delivery, headers: { ...delivery.headers, [header]: bytes.toString('latin1') } };
    if (source.verify(mutated, { now }).ok) accepted.push(`${header ?? 'body'}: ${bytes.toString('latin1')}`);
  }
  return accepted;
}

function textOf(delivery: DeliveryRequest, header: string): string {
  return delivery.headers[header] as string;
}

function ed25519Delivery(): { source: Source; delivery: DeliveryRequest } {
  // RFC 8032, section 7.1, test 1.
  const d = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
  const x = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
  const key = createPrivateKey({
    key: { kty: 'OKP', crv: 'Ed25519', d: d.toString('base64url'), x: x.toString('base64url') },
    format: 'jwk',
  });
  const source = standardWebhooks('keys', {
    secrets: `whpk_${x.toString('base64')}`,
    events: { 'order.paid': types<unknown>() },
  });
  const rawBody = Buffer.from('{"type":"order.paid","data":{}}');
  const timestamp = String(now.getTime() / 1000);
  const content = Buffer.concat([Buffer.from(`evt_1.${timestamp}.`), rawBody]);
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1a,${sign(null, content, key).toString('base64')}`,
  };
  return { source, delivery: { method: 'POST', url: 'https://receiver.example/keys', headers, rawBody } };
}

/** Mulberry32: small, and the same numbers in every run. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
