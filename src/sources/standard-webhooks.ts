import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { defineSource, type Source } from './define-source.js';
import { identified } from './identified.js';
import { isoTime } from './iso-time.js';
import { defaultTolerance, judgeTimestamp } from './judge-timestamp.js';
import { isJsonOrUnlabelled } from './media-types.js';
import { oneOf } from './one-of.js';
import { parseJson } from './parse-json.js';
import { stringAt, valueAt } from './read-field.js';
import { headerLines, readHeader } from './read-header.js';
import { refuse } from './refuse.js';
import { lazyKeys, type Secrets } from './secrets.js';
import type { EventSchemas, HeaderMap, Preset, SourceOptions } from './source.js';
import { type StandardWebhooksKey, standardWebhooksKey } from './standard-webhooks-key.js';
import { matchesAny, type SignatureEntry, signV1 } from './standard-webhooks-signature.js';

/** Options of {@link standardWebhooks}. */
export interface StandardWebhooksOptions<Events extends EventSchemas> extends SourceOptions<Events> {
  /** `whsec_` secrets (`v1`, HMAC), `whpk_` public keys (`v1a`, Ed25519), or both. Keys of at least 16 bytes. */
  readonly secrets: Secrets;
  /**
   * Which headers carry id, timestamp and signature: `webhook-*`, `svix-*`, or whichever family is complete. Default
   * 'either', and of two complete families `webhook-*`.
   */
  readonly headers?: 'webhook' | 'svix' | 'either';
  /** What the schemas describe: the `data` of the body, as the specification recommends, or the body. Default 'data'. */
  readonly schemaOf?: 'data' | 'body';
  /** How far the timestamp may lie from now, on both sides and inclusive. Default '300 seconds'. */
  readonly tolerance?: string | number;
}

/** A rotation needs two or three entries; more only cost time. */
const signatureEntriesLimit = 32;

const families = ['webhook', 'svix'] as const;

/**
 * A source that signs by Standard Webhooks, as Svix, Clerk, Resend, OpenAI and Onefold's own publisher do.
 *
 * Identity: `webhook-id`, which is signed and equal in every retry. Type: `type` of the body, '' where it has none.
 * Time: `timestamp` of the body. Of several signatures and several secrets one match is enough; entries of an unknown
 * version count for nothing.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault. Secrets are judged on first use, see `fromEnv`.
 * @see Standard Webhooks 1.0.0.
 */
export function standardWebhooks<const Name extends string, Events extends EventSchemas>(
  name: Name,
  options: StandardWebhooksOptions<Events>,
): Source<Name, Events> {
  return defineSource(name, options, presetOf(name, options), ['secrets', 'headers', 'schemaOf', 'tolerance']);
}

function presetOf(name: string, options: StandardWebhooksOptions<EventSchemas>): Preset {
  const place = `source '${name}'`;
  const headers = oneOf(options.headers ?? 'either', [...families, 'either'], `${place}.headers`);
  const schemaOf = oneOf(options.schemaOf ?? 'data', ['data', 'body'], `${place}.schemaOf`);
  const toleranceMs = durationMs(options.tolerance ?? defaultTolerance, `${place}.tolerance`);
  const keys = lazyKeys(name, options.secrets, standardWebhooksKey);
  const accepted = headers === 'either' ? families : [headers];

  return {
    provider: 'standard-webhooks',
    identityFrom: `the header ${accepted.map((family) => `${family}-id`).join(' or ')}`,
    readSecrets: () => void keys(),
    verify(request, { now }) {
      const held = keys();
      const signed = completeFamily(request.headers, accepted);
      if (!signed) {
        return refuse(
          'signature_missing',
          'missing_header',
          `expected ${accepted.map((family) => `${family}-id, ${family}-timestamp and ${family}-signature`).join(' or ')}, none of them blank`,
        );
      }
      const untimely = judgeTimestamp(signed.timestamp, now, toleranceMs);
      if (untimely) return untimely;
      const entries = readEntries(signed.signature);
      const unusable = judgeEntries(entries, held);
      if (unusable) return unusable;
      const message = { id: signed.id, timestamp: signed.timestamp, body: request.rawBody };
      const secret = held.findIndex((key) => matchesAny(key, message, entries));
      return secret >= 0
        ? { ok: true, secret }
        : refuse('signature_mismatch', 'signature_mismatch', 'no secret produces any of the signatures');
    },
    identify(request) {
      // An event that a person hands in has neither timestamp nor signature; of a request both were there when it verified.
      const id = completeFamily(request.headers, accepted)?.id ?? firstId(request.headers, accepted);
      if (id === undefined) {
        return refuse('identity_missing', 'missing_identity', 'the header with the event id is absent');
      }
      const json = parseJson(request.rawBody);
      if (!json.ok) return json;
      return identified({
        id,
        eventId: id,
        parts: [id],
        // Recommended by the specification, not required: an event without a type is one that no effect subscribes to.
        type: stringAt(json, 'type') ?? '',
        occurredAt: isoTime(stringAt(json, 'timestamp')),
        json: json.text,
        body: json.value,
      });
    },
    dataOf: (body) => (schemaOf === 'data' ? valueAt(body, 'data') : body),
    readsMediaType: isJsonOrUnlabelled,
    exposesResult: true,
    nameHeaders: ({ id }) => (id === undefined ? {} : { [`${accepted[0]}-id`]: id }),
    sign({ body, id, now }) {
      const shared = keys().find((key) => key.version === 'v1');
      if (shared?.version !== 'v1') {
        throw new OnefoldError(
          'secret_invalid',
          `${place} has only public keys ('whpk_'), which verify; signing needs a shared secret ('whsec_')`,
        );
      }
      const timestamp = String(Math.floor(now.getTime() / 1000));
      const family = accepted[0]!;
      return {
        'content-type': 'application/json',
        [`${family}-id`]: id,
        [`${family}-timestamp`]: timestamp,
        [`${family}-signature`]: `v1,${signV1(shared.key, { id, timestamp, body })}`,
      };
    },
    facts: {
      asOf: '2026-11-01',
      // The specification recommends 15 to 30 s to senders, and Svix waits for 15 s.
      timeoutMs: 15_000,
      // Its example schedule: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h.
      redeliveryWindowMs: 272_105_000,
      identityUnsigned: false,
    },
  };
}

interface SignedHeaders {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

/** The first family whose three headers are all there; the families are never mixed, since only one of them is signed. */
function completeFamily(headers: HeaderMap, accepted: readonly string[]): SignedHeaders | undefined {
  for (const family of accepted) {
    const id = readHeader(headers, `${family}-id`);
    const timestamp = readHeader(headers, `${family}-timestamp`);
    const signature = headerLines(headers, `${family}-signature`).join(' ');
    if (id !== undefined && timestamp !== undefined && signature !== '') return { id, timestamp, signature };
  }
  return undefined;
}

function firstId(headers: HeaderMap, accepted: readonly string[]): string | undefined {
  return accepted.map((family) => readHeader(headers, `${family}-id`)).find((id) => id !== undefined);
}

function readEntries(signatures: string): readonly SignatureEntry[] {
  return signatures
    .split(' ')
    .filter((entry) => entry.includes(','))
    .map((entry) => ({
      version: entry.slice(0, entry.indexOf(',')),
      signature: entry.slice(entry.indexOf(',') + 1),
    }));
}

/** Refuses where there is nothing to compare, and says why. */
function judgeEntries(entries: readonly SignatureEntry[], held: readonly StandardWebhooksKey[]) {
  if (entries.length === 0) {
    return refuse('signature_malformed', 'malformed_header', "the signature header has no entry of the form 'v1,…'");
  }
  if (entries.length > signatureEntriesLimit) {
    return refuse(
      'signature_malformed',
      'malformed_header',
      `the signature header has more than ${signatureEntriesLimit} entries`,
    );
  }
  const versions = new Set<string>(held.map((key) => key.version));
  if (entries.some((entry) => versions.has(entry.version))) return undefined;
  return refuse(
    'signature_scheme_unsupported',
    'unsupported_scheme',
    `the request is signed in no version that the secrets can verify: ${[...versions].join(', ')}`,
  );
}
