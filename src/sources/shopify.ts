import { defineSource, type Source } from './define-source.js';
import { equalText } from './equal-text.js';
import { hmacText } from './hmac-text.js';
import { identified } from './identified.js';
import { isoTime } from './iso-time.js';
import { escapePart, joinParts } from './join-parts.js';
import { isJsonOrUnlabelled } from './media-types.js';
import { parseJson } from './parse-json.js';
import { readHeader } from './read-header.js';
import { refuse } from './refuse.js';
import { lazyKeys, type Secrets } from './secrets.js';
import type { EventSchemas, HeaderMap, Preset, Refusal, SourceOptions } from './source.js';
import { textKey } from './text-key.js';

/** Options of {@link shopify}. */
export interface ShopifyOptions<Events extends EventSchemas> extends SourceOptions<Events> {
  /** The client secret of the app, as text; after a change keep the old one beside it for a while. */
  readonly secrets: Secrets;
}

/** The names of one family's headers differ in their start only. */
type Family = 'x-shopify-' | 'shopify-';

/**
 * Shopify's webhooks (`X-Shopify-*` headers) and its Events (`shopify-*` headers).
 *
 * Identity of a webhook: shop, topic and `X-Shopify-Event-Id` together, once per event however many subscriptions send
 * it; where that header is missing, `X-Shopify-Webhook-Id`, once per subscription. Identity of an Event:
 * `shopify-webhook-id`. Type: the topic. Time: `Triggered-At`. Scope: the shop. The schema describes the whole body.
 *
 * The signature covers the body alone: identity, topic and shop stand outside it, and there is no signed time. An
 * identity that comes with another body is therefore refused (`refuseOtherBody`). Two subscriptions of one topic that
 * select different fields send one Event-Id with two bodies: give each a source of its own.
 *
 * Webhooks made by hand in a shop's settings are signed with another secret than the app's.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault. Secrets are judged on first use, see `fromEnv`.
 * @see Shopify Docs, "Ignore duplicate webhooks" and "Events delivery structure".
 */
export function shopify<const Name extends string, Events extends EventSchemas>(
  name: Name,
  options: ShopifyOptions<Events>,
): Source<Name, Events> {
  return defineSource(name, options, presetOf(name, options.secrets), ['secrets']);
}

function presetOf(name: string, secrets: Secrets): Preset {
  const keys = lazyKeys(name, secrets, textKey);
  const signatureOf = (key: Buffer, body: Uint8Array) => hmacText('sha256', key, 'base64', [body]);

  return {
    provider: 'shopify',
    identityFrom: 'shop, topic and X-Shopify-Event-Id, else X-Shopify-Webhook-Id',
    readSecrets: () => void keys(),
    verify({ headers, rawBody }) {
      const held = keys();
      const signature = readHeader(headers, `${familyOf(headers)}hmac-sha256`);
      if (signature === undefined) {
        return refuse('signature_missing', 'missing_header', 'expected X-Shopify-Hmac-Sha256, once and not blank');
      }
      const secret = held.findIndex((key) => equalText(signature, signatureOf(key, rawBody)));
      return secret >= 0
        ? { ok: true, secret }
        : refuse('signature_mismatch', 'signature_mismatch', 'no secret produces the signature');
    },
    identify({ headers, rawBody }) {
      const family = familyOf(headers);
      const type = readHeader(headers, `${family}topic`);
      if (type === undefined) {
        return refuse('type_missing', 'missing_header', `expected ${family}topic, once and not blank`);
      }
      const identity = identityOf(headers, family, type);
      if ('ok' in identity) return identity;
      const json = parseJson(rawBody);
      if (!json.ok) return json;
      return identified({
        ...identity,
        type,
        action: readHeader(headers, `${family}action`),
        occurredAt: isoTime(readHeader(headers, `${family}triggered-at`)),
        deliveryId: readHeader(headers, `${family}webhook-id`),
        scope: readHeader(headers, `${family}shop-domain`),
        json: json.text,
        body: json.value,
      });
    },
    dataOf: (body) => body,
    readsMediaType: isJsonOrUnlabelled,
    exposesResult: false,
    nameHeaders,
    sign: ({ body, id, type, now }) => ({
      'content-type': 'application/json',
      ...nameHeaders({ id, type }),
      'x-shopify-shop-domain': 'onefold-example.myshopify.com',
      'x-shopify-webhook-id': id,
      'x-shopify-triggered-at': now.toISOString(),
      'x-shopify-hmac-sha256': signatureOf(keys()[0]!, body),
    }),
    // 8 retries over 4 h since September 2024.
    facts: { asOf: '2026-11-01', timeoutMs: 5_000, redeliveryWindowMs: 14_400_000, identityUnsigned: true },
  };
}

/** Without the shop, which only its owner can tell and which is part of the identity. */
const nameHeaders: Preset['nameHeaders'] = ({ id, type }) => ({
  ...(type !== undefined && { 'x-shopify-topic': type }),
  ...(id !== undefined && { 'x-shopify-event-id': id }),
});

/** One family is judged and read throughout, so that no header of the other can slip in beside a signature. */
function familyOf(headers: HeaderMap): Family {
  const isEvent =
    readHeader(headers, 'x-shopify-hmac-sha256') === undefined &&
    readHeader(headers, 'shopify-hmac-sha256') !== undefined;
  return isEvent ? 'shopify-' : 'x-shopify-';
}

interface Identity {
  readonly id: string;
  readonly eventId: string;
  readonly parts: readonly string[];
}

function identityOf(headers: HeaderMap, family: Family, topic: string): Identity | Refusal {
  const eventId = family === 'x-shopify-' ? readHeader(headers, 'x-shopify-event-id') : undefined;
  if (eventId !== undefined) {
    const shop = readHeader(headers, 'x-shopify-shop-domain');
    if (shop === undefined) {
      return refuse('identity_missing', 'missing_header', 'expected X-Shopify-Shop-Domain beside X-Shopify-Event-Id');
    }
    const parts = [shop, topic, eventId];
    return { id: joinParts(parts), eventId, parts };
  }
  const webhookId = readHeader(headers, `${family}webhook-id`);
  if (webhookId === undefined) {
    return refuse(
      'identity_missing',
      'missing_identity',
      family === 'x-shopify-'
        ? 'expected X-Shopify-Event-Id or X-Shopify-Webhook-Id, once and not blank'
        : 'expected shopify-webhook-id, once and not blank',
    );
  }
  // Escaped, so that no webhook id can spell the three joined parts of another event.
  return { id: escapePart(webhookId), eventId: webhookId, parts: [webhookId] };
}
