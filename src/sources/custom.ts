import { OnefoldError } from '../errors.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { type CustomIdentity, customIdentity, fieldPath } from './custom-identity.js';
import { customVerification, type HmacVerification, headerName } from './custom-verification.js';
import { defineSource, type Source } from './define-source.js';
import { identified } from './identified.js';
import { isoTime } from './iso-time.js';
import { isJsonOrUnlabelled, isJsonType } from './media-types.js';
import { oneOf } from './one-of.js';
import { type ParsedJson, parseJson } from './parse-json.js';
import { textAt } from './read-field.js';
import { readHeader } from './read-header.js';
import { refuse } from './refuse.js';
import type { DeliveryRequest, EventSchemas, Preset, SourceOptions } from './source.js';

/** Where a custom source has the type of an event. */
export type CustomType =
  | { readonly header: string }
  /** A field of the body, keys joined by dots. */
  | { readonly field: string }
  /** One type for everything the source sends. */
  | { readonly fixed: string };

/** Where a custom source has the time of an event: ISO 8601 text, or a number in the unit (default 'seconds'). */
export type CustomTime =
  | { readonly header: string; readonly unit?: 'seconds' | 'milliseconds' }
  | { readonly field: string; readonly unit?: 'seconds' | 'milliseconds' };

/** Options of {@link custom}. */
export interface CustomOptions<Events extends EventSchemas> extends SourceOptions<Events> {
  /**
   * How requests are signed. `'unverified'` takes whatever anybody sends to the URL: only behind something that has
   * verified the sender before, such as a private network or a gateway.
   */
  readonly verify: HmacVerification | 'unverified';
  readonly identity: CustomIdentity;
  readonly type: CustomType;
  /** Default: the events have no time. */
  readonly occurredAt?: CustomTime;
}

/**
 * A source for a provider without a preset: JSON signed by an HMAC in a header, or not at all where that is spelt out.
 *
 * The event identity is the provider's own (a header, then a field), else a hash over named fields of the body, else the
 * request is refused. The schema describes the whole body. Where the identity's header stands outside the signature, an
 * identity that comes with another body is refused (`refuseOtherBody`).
 *
 * An unverified source reads bodies labelled as JSON only: a web page of anybody can make a browser post plain text or
 * an unlabelled body into a private network, but not JSON.
 *
 * @throws {OnefoldError} `config_invalid` naming the option at fault. Secrets are judged on first use, see `fromEnv`.
 */
export function custom<const Name extends string, Events extends EventSchemas>(
  name: Name,
  options: CustomOptions<Events>,
): Source<Name, Events> {
  return defineSource(name, options, presetOf(name, options), ['verify', 'identity', 'type', 'occurredAt']);
}

function presetOf(name: string, options: CustomOptions<EventSchemas>): Preset {
  const place = `source '${name}'`;
  const identity = customIdentity(name, options.identity);
  const verification = customVerification(name, options.verify, identity.header);
  const type = typeReader(options.type, `${place}.type`);
  const occurredAt = timeReader(options.occurredAt, `${place}.occurredAt`);
  const isUnverified = options.verify === 'unverified';
  const nameHeaders: Preset['nameHeaders'] = (event) => ({
    ...(identity.header !== undefined && event.id !== undefined && { [identity.header]: event.id }),
    ...(type.header !== undefined && event.type !== undefined && { [type.header]: event.type }),
  });

  return {
    provider: 'custom',
    identityFrom: identity.from,
    readSecrets: verification.readSecrets,
    verify: verification.verify,
    identify(request) {
      const json = parseJson(request.rawBody);
      if (!json.ok) return json;
      const found = identity.read(request, json);
      if ('ok' in found) return found;
      const typeText = type.read(request, json);
      if (typeText === undefined) return refuse('type_missing', type.reason, type.missing);
      return identified({
        ...found,
        type: typeText,
        occurredAt: occurredAt(request, json),
        json: json.text,
        body: json.value,
      });
    },
    dataOf: (body) => body,
    readsMediaType: isUnverified ? isJsonType : isJsonOrUnlabelled,
    exposesResult: !isUnverified,
    nameHeaders,
    sign: (delivery) => ({
      'content-type': 'application/json',
      ...nameHeaders(delivery),
      ...verification.signatureHeaders(delivery),
    }),
    facts: {
      asOf: '2026-11-01',
      identityUnsigned: isUnverified || (identity.header !== undefined && !verification.coversIdentityHeader),
    },
  };
}

interface TypeReader {
  readonly header: string | undefined;
  readonly reason: 'missing_header' | 'malformed_body';
  readonly missing: string;
  read(request: DeliveryRequest, json: ParsedJson): string | undefined;
}

function typeReader(options: CustomType, place: string): TypeReader {
  const given = exactlyOne(options, ['header', 'field', 'fixed'], [], place);
  if (given === 'header') {
    const header = headerName((options as { header: string }).header, `${place}.header`);
    const missing = `expected ${header}, once and not blank`;
    return { header, reason: 'missing_header', missing, read: ({ headers }) => readHeader(headers, header) };
  }
  if (given === 'field') {
    const field = fieldPath((options as { field: string }).field, `${place}.field`);
    const missing = `no string or number in the field ${field}`;
    return { header: undefined, reason: 'malformed_body', missing, read: (_, json) => textAt(json, field) };
  }
  const { fixed } = options as { fixed: string };
  if (typeof fixed !== 'string' || fixed.trim() === '') {
    throw new OnefoldError('config_invalid', `${place}.fixed: expected the name of an event type`);
  }
  return { header: undefined, reason: 'malformed_body', missing: '', read: () => fixed };
}

function timeReader(
  options: CustomTime | undefined,
  place: string,
): (request: DeliveryRequest, json: ParsedJson) => string | undefined {
  if (options === undefined) return () => undefined;
  const given = exactlyOne(options, ['header', 'field'], ['unit'], place);
  const unit = oneOf(options.unit ?? 'seconds', ['seconds', 'milliseconds'], `${place}.unit`);
  if (given === 'header') {
    const header = headerName((options as { header: string }).header, `${place}.header`);
    return ({ headers }) => isoTime(readHeader(headers, header), unit);
  }
  const field = fieldPath((options as { field: string }).field, `${place}.field`);
  return (_, json) => isoTime(textAt(json, field), unit);
}

/** @throws {OnefoldError} `config_invalid` where none or several of the alternatives are given, or something unknown. */
function exactlyOne<const Alternative extends string>(
  options: object,
  alternatives: readonly Alternative[],
  others: readonly string[],
  place: string,
): Alternative {
  if (typeof options === 'object' && options !== null) {
    refuseUnknownOptions(options, [...alternatives, ...others], place);
    const [given, ...more] = alternatives.filter((alternative) => alternative in options);
    if (given !== undefined && more.length === 0) return given;
  }
  throw new OnefoldError('config_invalid', `${place}: expected one of ${alternatives.join(', ')}`);
}
