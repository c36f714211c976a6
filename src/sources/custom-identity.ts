import { OnefoldError } from '../errors.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { sha256 } from '../runtime/sha256.js';
import { headerName } from './custom-verification.js';
import { joinParts } from './join-parts.js';
import type { ParsedJson } from './parse-json.js';
import { textAt } from './read-field.js';
import { readHeader } from './read-header.js';
import { refuse } from './refuse.js';
import type { DeliveryRequest, Refusal } from './source.js';

/**
 * Where a custom source has its event identity. Of several the first that is there counts: header, field, hash.
 *
 * `'whole-body-hash'` only where the provider gives nothing at all that names the event: a retry that changes a single
 * byte, such as an attempt counter or the time of sending, is then another event.
 */
export type CustomIdentity =
  | {
      /** A header that is equal in every attempt, such as 'X-Idempotency-Key'. Never one made anew per request. */
      readonly header?: string;
      /** A field of the body, keys joined by dots: 'id', 'event.id'. A string, or a number by its digits. */
      readonly field?: string;
      /** Fields of the body that identify the event together, for a hash: ['resource.id', 'type', 'timestamp']. */
      readonly hashOf?: readonly string[];
    }
  | 'whole-body-hash';

/** What a custom source's identity was read as. */
export interface FoundIdentity {
  readonly id: string;
  readonly eventId: string | null;
  readonly parts: readonly string[];
}

/** {@link CustomIdentity} made ready. */
export interface CustomIdentityReader {
  /** The configured header in lower case. */
  readonly header: string | undefined;
  /** Where it is read from, for people: 'the header x-event-id, else the field id'. */
  readonly from: string;
  /** The identity, or a refusal: a blank or absent value is never one, and nothing of the transport stands in for it. */
  read(request: DeliveryRequest, json: ParsedJson): FoundIdentity | Refusal;
}

/** @throws {OnefoldError} `config_invalid` naming the option at fault. */
export function customIdentity(source: string, options: CustomIdentity): CustomIdentityReader {
  if (options === 'whole-body-hash') return wholeBodyHash;
  const place = `source '${source}'.identity`;
  if (typeof options !== 'object' || options === null) {
    throw new OnefoldError('config_invalid', `${place}: expected a header, a field or the fields of a hash`);
  }
  refuseUnknownOptions(options, ['header', 'field', 'hashOf'], place);
  const header = options.header === undefined ? undefined : headerName(options.header, `${place}.header`);
  const field = options.field === undefined ? undefined : fieldPath(options.field, `${place}.field`);
  const { hashOf } = options;
  if (hashOf !== undefined && (!Array.isArray(hashOf) || hashOf.length === 0)) {
    throw new OnefoldError('config_invalid', `${place}.hashOf: expected a list of one or more fields`);
  }
  const hashFields = hashOf?.map((path, index) => fieldPath(path, `${place}.hashOf[${index}]`)) ?? [];
  if (header === undefined && field === undefined && hashFields.length === 0) {
    throw new OnefoldError('config_invalid', `${place}: name a header, a field or the fields of a hash`);
  }

  return {
    header,
    from: inWords(header, field, hashFields),
    read({ headers }, json) {
      const own =
        (header === undefined ? undefined : readHeader(headers, header)) ??
        (field === undefined ? undefined : textAt(json, field));
      if (own !== undefined) return { id: own, eventId: own, parts: [own] };
      const values = hashFields.map((path) => textAt(json, path));
      if (values.length > 0 && values.every((value) => value !== undefined)) return hashed(values);
      return refuse('identity_missing', 'missing_identity', missing(header, field, hashFields, values));
    },
  };
}

const wholeBodyHash: CustomIdentityReader = {
  header: undefined,
  from: 'a hash of the whole body',
  read: ({ rawBody }) => {
    const digest = sha256(rawBody);
    return { id: `sha256:${digest}`, eventId: null, parts: [digest] };
  },
};

/** The digest of values joined one to one; its label tells it from an id that the provider gives. */
function hashed(parts: readonly string[]): FoundIdentity {
  return { id: `sha256:${sha256(joinParts(parts))}`, eventId: null, parts };
}

function inWords(header: string | undefined, field: string | undefined, hashFields: readonly string[]): string {
  return [
    header === undefined ? '' : `the header ${header}`,
    field === undefined ? '' : `the body's ${field}`,
    hashFields.length === 0 ? '' : `a hash of the body's ${hashFields.join(', ')}`,
  ]
    .filter((part) => part !== '')
    .join(', else ');
}

function missing(
  header: string | undefined,
  field: string | undefined,
  hashFields: readonly string[],
  values: readonly (string | undefined)[],
): string {
  const absent = hashFields.filter((_, index) => values[index] === undefined);
  return [
    header === undefined ? '' : `no header ${header}`,
    field === undefined ? '' : `no string or number in the field ${field}`,
    absent.length === 0 ? '' : `nothing to hash in ${absent.join(', ')}`,
  ]
    .filter((part) => part !== '')
    .join('; ');
}

/** @throws {OnefoldError} `config_invalid` for what is no path of keys. */
export function fieldPath(value: unknown, place: string): string {
  if (typeof value === 'string' && value !== '' && value.split('.').every((key) => key !== '')) return value;
  throw new OnefoldError(
    'config_invalid',
    `${place}: expected a field such as 'id' or 'event.id', got ${JSON.stringify(value)}`,
  );
}
