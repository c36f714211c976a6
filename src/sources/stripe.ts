import { durationMs } from '../runtime/duration.js';
import { defineSource, type Source } from './define-source.js';
import { equalText } from './equal-text.js';
import { hmacText } from './hmac-text.js';
import { identified } from './identified.js';
import { isoTime } from './iso-time.js';
import { defaultTolerance, judgeTimestamp } from './judge-timestamp.js';
import { isJsonOrUnlabelled } from './media-types.js';
import { parseJson } from './parse-json.js';
import { stringAt, textAt, valueAt } from './read-field.js';
import { headerBytes, headerLines } from './read-header.js';
import { refuse } from './refuse.js';
import { type KeyReader, lazyKeys, type Secrets } from './secrets.js';
import type { EventSchemas, Preset, Refusal, SourceOptions } from './source.js';

/** Options of {@link stripe}. */
export interface StripeOptions<Events extends EventSchemas> extends SourceOptions<Events> {
  /** The endpoint's signing secret, `whsec_` included. Live mode, test mode and the CLI have one each. */
  readonly secrets: Secrets;
  /** How far the timestamp may lie from now, on both sides and inclusive. Default '300 seconds'. */
  readonly tolerance?: string | number;
}

/** While a secret is rolled Stripe sends one signature per active secret; more only cost time. */
const signaturesLimit = 32;

/**
 * Stripe's webhooks, snapshot and thin events alike.
 *
 * Identity: the event's `id`, which retries keep. Type: `type`. Time: `created`. Scope: `account`, for Connect. The
 * schema describes the whole event, so that `types<Stripe.Event>()` fits. Of several `v1` signatures and several
 * secrets one match is enough; `v0` counts for nothing. Unlike Stripe's own libraries, which check the past only, a
 * timestamp too far ahead is refused.
 *
 * Use one source per account and mode: ids are unique within those. Two events can exist for one change, so effects
 * need a business key of the thing itself.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault. Secrets are judged on first use, see `fromEnv`.
 * @see Stripe Docs, "Resolve webhook signature verification errors" and "Process undelivered webhook events".
 */
export function stripe<const Name extends string, Events extends EventSchemas>(
  name: Name,
  options: StripeOptions<Events>,
): Source<Name, Events> {
  return defineSource(name, options, presetOf(name, options), ['secrets', 'tolerance']);
}

/** The whole text is the key, prefix included. */
const stripeKey: KeyReader<Buffer> = (secret, fail) =>
  /^[spr]k_/.test(secret)
    ? fail("is an API key; an endpoint's signing secret begins with 'whsec_'")
    : Buffer.from(secret, 'utf8');

function presetOf(name: string, options: StripeOptions<EventSchemas>): Preset {
  const toleranceMs = durationMs(options.tolerance ?? defaultTolerance, `source '${name}'.tolerance`);
  const keys = lazyKeys(name, options.secrets, stripeKey);
  const signatureOf = (key: Buffer, timestamp: string, body: Uint8Array) =>
    hmacText('sha256', key, 'hex', [headerBytes(`${timestamp}.`), body]);

  return {
    provider: 'stripe',
    identityFrom: "the body's id",
    readSecrets: () => void keys(),
    verify({ headers, rawBody }, { now }) {
      const held = keys();
      const header = headerLines(headers, 'stripe-signature').join(',');
      if (header === '') return refuse('signature_missing', 'missing_header', 'expected Stripe-Signature, not blank');
      const signed = readSignature(header);
      if ('ok' in signed) return signed;
      const untimely = judgeTimestamp(signed.timestamp, now, toleranceMs);
      if (untimely) return untimely;
      const secret = held.findIndex((key) => {
        const expected = signatureOf(key, signed.timestamp, rawBody);
        return signed.signatures.some((signature) => equalText(signature, expected));
      });
      return secret >= 0
        ? { ok: true, secret }
        : refuse('signature_mismatch', 'signature_mismatch', 'no secret produces any of the v1 signatures');
    },
    identify({ rawBody }) {
      const json = parseJson(rawBody);
      if (!json.ok) return json;
      const id = textAt(json, 'id');
      if (id === undefined) {
        return refuse('identity_missing', 'missing_identity', "the event has no usable 'id': a string, not blank");
      }
      const type = stringAt(json, 'type');
      if (type === undefined) {
        return refuse('type_missing', 'malformed_body', "the event has no usable 'type': a string, not blank");
      }
      return identified({
        id,
        eventId: id,
        parts: [id],
        type,
        occurredAt: isoTime(valueAt(json.value, 'created')),
        scope: stringAt(json, 'account'),
        json: json.text,
        body: json.value,
      });
    },
    dataOf: (body) => body,
    readsMediaType: isJsonOrUnlabelled,
    exposesResult: false,
    nameHeaders: () => ({}),
    sign({ body, now }) {
      const timestamp = String(Math.floor(now.getTime() / 1000));
      return {
        'content-type': 'application/json; charset=utf-8',
        'stripe-signature': `t=${timestamp},v1=${signatureOf(keys()[0]!, timestamp, body)}`,
      };
    },
    // How long Stripe waits for an answer it does not say; it retries for up to 3 days in live mode.
    facts: { asOf: '2026-11-01', redeliveryWindowMs: 259_200_000, identityUnsigned: false },
  };
}

interface StripeSignature {
  readonly timestamp: string;
  readonly signatures: readonly string[];
}

/** Reads `t=…,v1=…[,v1=…][,v0=…]`; schemes other than v1 are passed over. */
function readSignature(header: string): StripeSignature | Refusal {
  const elements = header.split(',').map((element) => {
    const equals = element.indexOf('=');
    return { key: element.slice(0, Math.max(equals, 0)), value: element.slice(equals + 1) };
  });
  if (elements.some(({ key }) => key === '')) return malformed("an element of Stripe-Signature is not 'key=value'");
  const [timestamp, ...otherTimestamps] = elements.filter(({ key }) => key === 't');
  if (!timestamp || otherTimestamps.length > 0) return malformed("Stripe-Signature needs one element 't'");
  const signatures = elements.filter(({ key }) => key === 'v1').map(({ value }) => value);
  if (signatures.length > signaturesLimit) return malformed(`more than ${signaturesLimit} signatures`);
  if (signatures.length === 0) {
    return refuse('signature_scheme_unsupported', 'unsupported_scheme', 'Stripe-Signature has no v1 signature');
  }
  return { timestamp: timestamp.value, signatures };
}

function malformed(message: string): Refusal {
  return refuse('signature_malformed', 'malformed_header', message);
}
