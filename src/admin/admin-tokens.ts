import { createHash, timingSafeEqual } from 'node:crypto';
import { OnefoldError } from '../errors.js';
import type { AdminAccess } from './admin-route.js';

/** The tokens of the admin API; secrets. */
export interface AdminTokens {
  /** May act and read: `ONEFOLD_ADMIN_TOKEN`. */
  readonly act?: string;
  /** May read only: `ONEFOLD_ADMIN_READ_TOKEN`. */
  readonly read?: string;
}

/** As many characters of a random token cannot be guessed. */
const leastCharacters = 24;

/** What RFC 6750 takes in a header. */
const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/;

const variables = { act: 'ONEFOLD_ADMIN_TOKEN', read: 'ONEFOLD_ADMIN_READ_TOKEN' } as const;

/**
 * Makes the judge of `authorization` headers.
 *
 * @returns What a header gives access to; undefined for none and for a wrong one.
 * @throws {OnefoldError} `config_missing` without any token: the API is never open, on no address. `config_invalid` for one
 * that is too short or cannot stand in a header, and for two that are equal.
 */
export function adminAccess(tokens: AdminTokens): (authorization: string | undefined) => AdminAccess | undefined {
  const { act, read } = tokens;
  if (act === undefined && read === undefined) {
    throw new OnefoldError(
      'config_missing',
      `${variables.act} is not set: the admin API takes no request without a token of at least ${leastCharacters} characters`,
    );
  }
  for (const name of ['act', 'read'] as const) {
    const token = tokens[name];
    if (token === undefined || (token.length >= leastCharacters && tokenForm.test(token))) continue;
    throw new OnefoldError(
      'config_invalid',
      `${variables[name]}: expected at least ${leastCharacters} of the characters A-Z a-z 0-9 . _ ~ + / -`,
    );
  }
  if (act === read) throw new OnefoldError('config_invalid', `${variables.read}: it is the same as ${variables.act}`);
  const known = [
    { access: 'act', digest: act === undefined ? undefined : sha256(act) },
    { access: 'read', digest: read === undefined ? undefined : sha256(read) },
  ] as const;
  return (authorization) => {
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (given === undefined) return undefined;
    // Digests have one length, and the time of comparing them tells nothing of the tokens. Every one is compared.
    const digest = sha256(given);
    const fitting = known.filter((one) => one.digest !== undefined && timingSafeEqual(digest, one.digest));
    return fitting[0]?.access;
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
