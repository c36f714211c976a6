import type { Sealed, Sealer } from '../runtime/seal.js';

/** The endpoint that sealed headers belong to. */
export interface HeadersPlace {
  readonly tenant: string;
  readonly endpoint: string;
}

/**
 * Seals the extra headers of an endpoint, whose values may be credentials.
 *
 * @returns Undefined where there are none.
 */
export function sealHeaders(
  sealer: Sealer,
  headers: Readonly<Record<string, string>>,
  place: HeadersPlace,
): Sealed | undefined {
  return Object.keys(headers).length === 0 ? undefined : sealer.seal(JSON.stringify(headers), placeOf(place));
}

/**
 * Opens the extra headers of an endpoint; undefined stands for none.
 *
 * @returns Names in lower case, and values.
 * @throws {OnefoldError} `secret_unreadable`, `config_missing`, `config_invalid`.
 */
export function openHeaders(
  sealer: Sealer,
  sealed: Sealed | undefined,
  place: HeadersPlace,
): Readonly<Record<string, string>> {
  return sealed ? (JSON.parse(sealer.open(sealed, placeOf(place))) as Readonly<Record<string, string>>) : {};
}

function placeOf({ tenant, endpoint }: HeadersPlace): string {
  return JSON.stringify(['endpoint-headers', tenant, endpoint]);
}
