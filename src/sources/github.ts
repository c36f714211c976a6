import { defineSource, type Source } from './define-source.js';
import { equalText } from './equal-text.js';
import { formField } from './form-field.js';
import { hmacText } from './hmac-text.js';
import { identified } from './identified.js';
import { isJsonOrUnlabelled } from './media-types.js';
import { type ParsedJson, parseJson } from './parse-json.js';
import { stringAt } from './read-field.js';
import { mediaTypeOf, readHeader } from './read-header.js';
import { refuse } from './refuse.js';
import { lazyKeys, type Secrets } from './secrets.js';
import type { DeliveryRequest, EventSchemas, Preset, Refusal, SourceOptions } from './source.js';
import { textKey } from './text-key.js';

/** Options of {@link github}. */
export interface GitHubOptions<Events extends EventSchemas> extends SourceOptions<Events> {
  /** The secret of the hook, as text. */
  readonly secrets: Secrets;
}

const prefix = 'sha256=';
const formType = 'application/x-www-form-urlencoded';

/**
 * GitHub's webhooks, of repositories, organisations and apps.
 *
 * Identity: `X-GitHub-Delivery`, which a redelivery keeps. Type: `X-GitHub-Event`, with the body's `action` beside it.
 * The schema describes the whole payload. Only the SHA-256 signature counts; the old SHA-1 header beside it is ignored,
 * and alone it is refused. Both content types of a hook's settings are read.
 *
 * The identity stands outside the signature, so whoever captured one delivery could send its body under an id of his
 * choice: an identity that comes with another body is refused (`refuseOtherBody`). GitHub never retries by itself: what
 * was missed is asked for again by hand or by its API, within 3 days.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault. Secrets are judged on first use, see `fromEnv`.
 * @see GitHub Docs, "Validating webhook deliveries" and "Handling failed webhook deliveries".
 */
export function github<const Name extends string, Events extends EventSchemas>(
  name: Name,
  options: GitHubOptions<Events>,
): Source<Name, Events> {
  return defineSource(name, options, presetOf(name, options.secrets), ['secrets']);
}

function presetOf(name: string, secrets: Secrets): Preset {
  const keys = lazyKeys(name, secrets, textKey);
  const signatureOf = (key: Buffer, body: Uint8Array) => prefix + hmacText('sha256', key, 'hex', [body]);

  return {
    provider: 'github',
    identityFrom: 'the header X-GitHub-Delivery',
    readSecrets: () => void keys(),
    verify({ headers, rawBody }) {
      const held = keys();
      const signature = readHeader(headers, 'x-hub-signature-256');
      if (signature === undefined) {
        return readHeader(headers, 'x-hub-signature') === undefined
          ? refuse(
              'signature_missing',
              'missing_header',
              'expected X-Hub-Signature-256; is the secret of the hook set?',
            )
          : refuse(
              'signature_scheme_unsupported',
              'missing_header',
              'expected X-Hub-Signature-256, and only the SHA-1 signature is there, which is no fallback',
            );
      }
      if (!signature.startsWith(prefix)) {
        return refuse('signature_malformed', 'malformed_header', `X-Hub-Signature-256 does not begin with '${prefix}'`);
      }
      const secret = held.findIndex((key) => equalText(signature, signatureOf(key, rawBody)));
      return secret >= 0
        ? { ok: true, secret }
        : refuse('signature_mismatch', 'signature_mismatch', 'no secret produces the signature');
    },
    identify(request) {
      const id = readHeader(request.headers, 'x-github-delivery');
      if (id === undefined) {
        return refuse('identity_missing', 'missing_identity', 'expected X-GitHub-Delivery, once and not blank');
      }
      const type = readHeader(request.headers, 'x-github-event');
      if (type === undefined) {
        return refuse('type_missing', 'missing_header', 'expected X-GitHub-Event, once and not blank');
      }
      const json = parsePayload(request);
      if (!json.ok) return json;
      const action = stringAt(json, 'action');
      return identified({ id, eventId: id, parts: [id], type, action, json: json.text, body: json.value });
    },
    dataOf: (body) => body,
    readsMediaType: (mediaType) => isJsonOrUnlabelled(mediaType) || mediaType === formType,
    exposesResult: false,
    nameHeaders,
    sign: ({ body, id, type }) => ({
      'content-type': 'application/json',
      ...nameHeaders({ id, type }),
      'x-hub-signature-256': signatureOf(keys()[0]!, body),
    }),
    facts: {
      asOf: '2026-11-01',
      timeoutMs: 10_000,
      redeliveryWindowMs: 0,
      // GitHub Docs, "Redelivering webhooks": by hand or by the API, deliveries of the past three days.
      manualRedeliveryWindowMs: 259_200_000,
      identityUnsigned: true,
    },
  };
}

const nameHeaders: Preset['nameHeaders'] = ({ id, type }) => ({
  ...(id !== undefined && { 'x-github-delivery': id }),
  ...(type !== undefined && { 'x-github-event': type }),
});

/** Sent as a form, the signature covers the form's bytes and the JSON is its field `payload`. */
function parsePayload({ headers, rawBody }: DeliveryRequest): ParsedJson | Refusal {
  if (mediaTypeOf(headers) !== formType) return parseJson(rawBody);
  const payload = formField(rawBody, 'payload');
  return payload === undefined
    ? refuse('body_malformed', 'malformed_body', "the form has no readable field 'payload'")
    : parseJson(Buffer.from(payload, 'utf8'));
}
