import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { equalText } from './equal-text.js';
import { type HmacAlgorithm, hmacText } from './hmac-text.js';
import { defaultTolerance, judgeTimestamp } from './judge-timestamp.js';
import { oneOf } from './one-of.js';
import { headerBytes, headerLines, readHeader } from './read-header.js';
import { refuse } from './refuse.js';
import { lazyKeys, type Secrets } from './secrets.js';
import type { DeliveryRequest, Preset, SignRequest, Verdict } from './source.js';
import { textKey } from './text-key.js';

/** How a provider without a preset signs: an HMAC in a header. */
export interface HmacVerification {
  /** 'sha256' unless the provider offers nothing better than 'sha1'. */
  readonly hmac: HmacAlgorithm;
  /** The header with the signature. */
  readonly header: string;
  /** How the signature is written. Hex in small or in capital letters. */
  readonly encoding: 'hex' | 'base64';
  /** What stands before the signature in its header, such as 'sha256='. Default ''. */
  readonly prefix?: string;
  /** The header with the time of the attempt in Unix seconds. Default: the scheme signs no time. */
  readonly timestampHeader?: string;
  /** How far the timestamp may lie from now, on both sides and inclusive. Default '300 seconds'. */
  readonly tolerance?: string | number;
  /**
   * What is signed: a text with {body}, {timestamp} and {id} (the identity header) in their places. Default '{body}',
   * or '{timestamp}.{body}' with a timestamp header.
   */
  readonly signedContent?: string;
  /** The secrets, whose UTF-8 text is the key. */
  readonly secrets: Secrets;
}

/** A verification made ready: the parts of a preset that have to do with signing. */
export interface CustomVerification extends Pick<Preset, 'readSecrets' | 'verify'> {
  /** The signature covers the header of the identity. */
  readonly coversIdentityHeader: boolean;
  signatureHeaders(delivery: SignRequest): Record<string, string>;
}

/**
 * Makes ready what `verify` of a custom source says.
 *
 * @param identityHeader The header that {id} in the signed content stands for, in lower case.
 * @throws {OnefoldError} `config_invalid` naming the option at fault.
 */
export function customVerification(
  source: string,
  options: HmacVerification | 'unverified',
  identityHeader: string | undefined,
): CustomVerification {
  if (options === 'unverified') return unverified;
  const place = `source '${source}'.verify`;
  if (typeof options !== 'object' || options === null) {
    throw new OnefoldError('config_invalid', `${place}: expected how requests are signed, or 'unverified' spelt out`);
  }
  refuseUnknownOptions(options, known, place);
  const algorithm = oneOf(options.hmac, ['sha256', 'sha1', 'sha512'], `${place}.hmac`);
  const encoding = oneOf(options.encoding, ['hex', 'base64'], `${place}.encoding`);
  const header = headerName(options.header, `${place}.header`);
  const timestampHeader =
    options.timestampHeader === undefined ? undefined : headerName(options.timestampHeader, `${place}.timestampHeader`);
  const toleranceMs = durationMs(options.tolerance ?? defaultTolerance, `${place}.tolerance`);
  const template = readTemplate(
    options.signedContent ?? (timestampHeader ? '{timestamp}.{body}' : '{body}'),
    { timestamp: timestampHeader !== undefined, id: identityHeader !== undefined },
    `${place}.signedContent`,
  );
  const prefix = options.prefix ?? '';
  const keys = lazyKeys(source, options.secrets, textKey);
  const signatureOf = (key: Buffer, values: TemplateValues) =>
    hmacText(algorithm, key, encoding, fillTemplate(template, values));

  return {
    readSecrets: () => void keys(),
    coversIdentityHeader: template.includes('{id}'),
    verify({ headers, rawBody }: DeliveryRequest, { now }): Verdict {
      const held = keys();
      const signatures = headerLines(headers, header);
      if (signatures.length === 0)
        return refuse('signature_missing', 'missing_header', `expected ${header}, not blank`);
      const timestamp = timestampHeader && readHeader(headers, timestampHeader);
      if (timestampHeader && timestamp === undefined) {
        return refuse('signature_missing', 'missing_header', `expected ${timestampHeader}, once and not blank`);
      }
      const id = identityHeader && readHeader(headers, identityHeader);
      if (template.includes('{id}') && id === undefined) {
        return refuse('signature_missing', 'missing_header', `expected ${identityHeader}, once and not blank`);
      }
      const prefixed = signatures.filter((signature) => signature.startsWith(prefix));
      if (prefixed.length === 0) {
        return refuse('signature_malformed', 'malformed_header', `${header} does not begin with '${prefix}'`);
      }
      const untimely = timestamp === undefined ? undefined : judgeTimestamp(timestamp, now, toleranceMs);
      if (untimely) return untimely;
      const secret = held.findIndex((key) => {
        const expected = signatureOf(key, { body: rawBody, timestamp: timestamp ?? '', id: id ?? '' });
        return prefixed.some((signature) => isSignature(signature.slice(prefix.length), expected, encoding));
      });
      return secret >= 0
        ? { ok: true, secret }
        : refuse('signature_mismatch', 'signature_mismatch', 'no secret produces the signature');
    },
    signatureHeaders({ body, id, now }) {
      const timestamp = String(Math.floor(now.getTime() / 1000));
      return {
        ...(timestampHeader && { [timestampHeader]: timestamp }),
        [header]: prefix + signatureOf(keys()[0]!, { body, timestamp, id }),
      };
    },
  };
}

const known: readonly (keyof HmacVerification)[] = [
  'hmac',
  'header',
  'encoding',
  'prefix',
  'timestampHeader',
  'tolerance',
  'signedContent',
  'secrets',
];

const unverified: CustomVerification = {
  readSecrets: () => undefined,
  coversIdentityHeader: false,
  verify: () => ({ ok: true, secret: 0 }),
  signatureHeaders: () => ({}),
};

/** Hex has two spellings, of which a sender uses one throughout; letters of both in one text come from no sender. */
function isSignature(given: string, expected: string, encoding: 'hex' | 'base64'): boolean {
  return equalText(given, expected) || (encoding === 'hex' && equalText(given, expected.toUpperCase()));
}

/**
 * A header's name in lower case, as requests are read.
 *
 * @throws {OnefoldError} `config_invalid` for what cannot be one (RFC 9110, section 5.6.2).
 */
export function headerName(value: unknown, place: string): string {
  if (typeof value === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value)) return value.toLowerCase();
  throw new OnefoldError('config_invalid', `${place}: expected the name of a header, got ${JSON.stringify(value)}`);
}

interface TemplateValues {
  readonly body: Uint8Array;
  readonly timestamp: string;
  readonly id: string;
}

/**
 * Takes a template apart into texts and placeholders. A time that the signature does not cover would be no protection,
 * so it is refused here and not found out by an attacker.
 */
function readTemplate(
  text: string,
  has: { readonly timestamp: boolean; readonly id: boolean },
  place: string,
): readonly string[] {
  const parts = text.split(/(\{[^{}]*\})/).filter((part) => part !== '');
  const count = (placeholder: string) => parts.filter((part) => part === placeholder).length;
  const fail = (what: string): never => {
    throw new OnefoldError('config_invalid', `${place}: ${what}, got ${JSON.stringify(text)}`);
  };
  const unknown = parts.find((part) => part.startsWith('{') && !['{body}', '{timestamp}', '{id}'].includes(part));
  if (unknown !== undefined) fail(`known are {body}, {timestamp} and {id}, not ${unknown}`);
  if (count('{body}') !== 1) fail('expected {body} once');
  if (has.timestamp !== count('{timestamp}') > 0) fail('{timestamp} and timestampHeader need one another');
  if (count('{id}') > 0 && !has.id) fail('{id} needs a header in `identity`');
  return parts;
}

function fillTemplate(template: readonly string[], values: TemplateValues): (string | Uint8Array)[] {
  return template.map((part) => {
    if (part === '{body}') return values.body;
    if (part === '{timestamp}') return headerBytes(values.timestamp);
    return part === '{id}' ? headerBytes(values.id) : part;
  });
}
