import { isIP } from 'node:net';
import type { EgressRules } from '../../runtime/egress-rules.js';
import { judgeAddress } from './judge-address.js';
import type { Resolve } from './resolve-host.js';

/** What became of a host's name. The messages hold no address: whose they are is nobody's business outside. */
export type Resolved =
  | { readonly kind: 'judged'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string }
  /** Nothing is known about where it leads: that is not the same as a forbidden address. */
  | { readonly kind: 'unresolved'; readonly message: string };

/**
 * Resolves a host and judges every address. One that is forbidden refuses them all: of an answer that mixes, the
 * connection might take any.
 *
 * @param host A name, or a bare address.
 */
export async function resolveJudged(host: string, rules: EgressRules, resolve: Resolve): Promise<Resolved> {
  const unresolved = { kind: 'unresolved', message: `the name ${host} could not be resolved` } as const;
  let addresses: readonly string[];
  try {
    addresses = isIP(host) > 0 ? [host] : await resolve(host);
  } catch {
    return unresolved;
  }
  if (addresses.length === 0) return unresolved;
  const allowed = (address: string) =>
    // A connection takes usual spellings only, so that what it reads is what was judged.
    isIP(address) > 0 && (rules.hosts.has(host) || judgeAddress(address, rules).allowed);
  return addresses.every(allowed)
    ? { kind: 'judged', addresses }
    : { kind: 'refused', message: `${host} leads to an address that is not public` };
}
