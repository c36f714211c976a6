import { dataDigest } from '../effects/data-digest.js';
import { encodeResult } from '../effects/encode-result.js';
import { issuesInWords } from '../effects/issues-in-words.js';
import { OnefoldError } from '../errors.js';
import { checkTenant } from '../identity/check-tenant.js';
import { checkPublication } from '../identity/publication-identity.js';
import type { NewPublication } from '../ledger/publications/insert-publications.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { sha256 } from '../runtime/sha256.js';
import { parseLossless } from '../sources/parse-lossless.js';
import type { PublicationCatalogue, PublicationFields } from './publication.js';
import { candidatePatterns, checkType } from './type-pattern.js';

/** What a message takes from where it is published. */
export interface PublicationOrigin {
  readonly tenant: string;
  /** JSON; null where no effect caused it. */
  readonly cause: string | null;
  /** Key of the event whose effect it is; what traces follow. Default null. */
  readonly causedBy?: string | null;
}

/** Receivers read it into memory before they can judge its signature, and few take more. */
export const messageLimitBytes = 256 * 1024;

/**
 * Visible ASCII, since it stands in a header. No full stop: it separates id, timestamp and body in what is signed.
 *
 * @see Standard Webhooks 1.0.0, "Signature scheme".
 */
const eventIdForm = /^(?!.*\.)[\x21-\x7e]{1,256}$/;

const known: readonly (keyof PublicationFields)[] = ['publication', 'type', 'data', 'tenant', 'eventId', 'retry'];

/**
 * Judges a message and makes of it what the ledger keeps: its body, written once, whose bytes are the same in every attempt,
 * and a digest by which the same content is recognised whatever the order of its keys.
 *
 * @throws {OnefoldError} `publication_invalid`, `publication_type_unknown`, `publication_too_large`, `identity_invalid`;
 * `data_invalid` naming the fields at fault, never their values.
 */
export async function buildPublication(
  { events, budgets }: PublicationCatalogue,
  publication: PublicationFields,
  origin: PublicationOrigin,
): Promise<NewPublication> {
  checkFields(publication);
  const tenant = checkTenant(publication.tenant ?? origin.tenant);
  const identity = checkPublication(publication.publication);
  const type = checkType(publication.type);
  const schema = Object.hasOwn(events, type) ? events[type] : undefined;
  if (!schema) {
    throw new OnefoldError(
      'publication_type_unknown',
      `the catalogue has no type '${type}'; it has ${Object.keys(events).join(', ')}`,
    );
  }
  const eventId = publication.eventId ?? defaultEventId(tenant, identity);
  const data = await encodeData(type, schema, publication.data);
  const body = `{"type":${JSON.stringify(type)},"timestamp":"${new Date().toISOString()}","data":${data}}`;
  const bytes = Buffer.byteLength(body);
  if (bytes > messageLimitBytes) throw tooLarge(bytes);
  const retried = publication.retry !== false;
  const budget = budgets.get(type);
  return {
    tenant,
    publication: identity,
    eventId,
    type,
    digest: dataDigest({ type, data: parseLossless(data), eventId, retried }),
    body,
    retried,
    pausesMs: budget?.pausesMs ?? null,
    elapsedMs: budget?.elapsedMs ?? null,
    cause: origin.cause,
    causedBy: origin.causedBy ?? null,
    patterns: candidatePatterns(type),
  };
}

/** The event identity where the caller gives none: one for each tenant and publication. */
export function defaultEventId(tenant: string, publication: string): string {
  return `msg_${sha256(JSON.stringify([tenant, publication])).slice(0, 32)}`;
}

function checkFields(publication: PublicationFields): void {
  const refuse = (message: string): never => {
    throw new OnefoldError('publication_invalid', message);
  };
  if (typeof publication !== 'object' || publication === null) {
    refuse('expected an object such as { publication, type, data }');
  }
  try {
    refuseUnknownOptions(publication, known, 'publication');
  } catch (error) {
    refuse((error as Error).message);
  }
  const { data, eventId, retry } = publication as { data?: unknown; eventId?: unknown; retry?: unknown };
  if (data === undefined) refuse('publication.data is missing; give {} where the type says it all');
  if (eventId !== undefined && !(typeof eventId === 'string' && eventIdForm.test(eventId))) {
    refuse('publication.eventId: expected 1 to 256 visible ASCII characters without a full stop');
  }
  if (retry !== undefined && retry !== false) {
    refuse('publication.retry: false, for one attempt per endpoint, or nothing; schedules belong to the type');
  }
}

async function encodeData(
  type: string,
  schema: PublicationCatalogue['events'][string],
  data: unknown,
): Promise<string> {
  const checked = await schema['~standard'].validate(data);
  if (checked.issues) {
    throw new OnefoldError(
      'data_invalid',
      `the data of '${type}' do not match their schema: ${issuesInWords(checked.issues)}`,
    );
  }
  if (checked.value === undefined) {
    throw new OnefoldError('data_invalid', `the schema of '${type}' left nothing of the data`);
  }
  try {
    return encodeResult(checked.value);
  } catch (error) {
    if (!(error instanceof OnefoldError)) throw error;
    if (error.code === 'result_too_large') throw tooLarge(undefined, error);
    throw new OnefoldError('data_invalid', error.message.replace(/^result/, 'data'), { cause: error });
  }
}

function tooLarge(bytes: number | undefined, cause?: unknown): OnefoldError {
  const has = bytes === undefined ? 'far more' : `${bytes}`;
  return new OnefoldError(
    'publication_too_large',
    `a message has at most ${messageLimitBytes} bytes of JSON, and this one has ${has}; publish an address where the receiver may fetch the rest`,
    { cause },
  );
}
