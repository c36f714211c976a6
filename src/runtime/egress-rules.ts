import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { OnefoldError } from '../errors.js';

/** A range of addresses, as CIDR says it. */
export interface AddressRange {
  readonly network: ipaddr.IPv4 | ipaddr.IPv6;
  readonly prefix: number;
}

/** What may be sent to beyond the public Internet by https: these may be private, and may be spoken to over http. */
export interface EgressRules {
  /** Names in lower case, without a dot at the end; whatever they resolve to is allowed. */
  readonly hosts: ReadonlySet<string>;
  readonly ranges: readonly AddressRange[];
  /** Whether that holds for the endpoints of tenants as well, and not only for those that belong to none. */
  readonly tenants: boolean;
}

const publicOnly: EgressRules = { hosts: new Set(), ranges: [], tenants: false };

/**
 * The rules for one tenant's endpoints. What is listed is the operator's own network: a tenant, who may choose URLs freely,
 * is let into it only where the operator says so.
 *
 * @param tenant '' for endpoints that belong to none, which are the operator's.
 */
export function tenantRules(rules: EgressRules, tenant: string): EgressRules {
  return tenant === '' || rules.tenants ? rules : publicOnly;
}

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const hostName = new RegExp(`^${label}(?:\\.${label})*$`);

/**
 * Reads the list of destinations that are allowed although they are not public, as `ONEFOLD_EGRESS_ALLOW` gives it.
 *
 * @param allow Host names (`localhost`, `hooks.internal.example`), addresses (`127.0.0.1`, `::1`) and ranges
 *   (`10.0.0.0/8`), each without scheme and port. Names are matched whole: `example.com` allows no `a.example.com`.
 * @param place The variable or option, for messages.
 * @param tenants Whether they are allowed to tenants too.
 * @throws {OnefoldError} `config_invalid` naming the place and the entry.
 */
export function egressRules(allow: readonly string[], place: string, tenants = false): EgressRules {
  const hosts = new Set<string>();
  const ranges: AddressRange[] = [];
  for (const given of allow) {
    const entry = given.trim().toLowerCase();
    const range = rangeOf(entry);
    if (range) ranges.push(range);
    else if (isHostName(entry)) hosts.add(entry.replace(/\.$/, ''));
    else throw invalid(place, given);
  }
  return { hosts, ranges, tenants };
}

function rangeOf(entry: string): AddressRange | undefined {
  const [address = '', prefix, ...rest] = entry.split('/');
  // Only the usual spellings: what else a parser takes for an address, such as 127.1, is more likely a slip.
  if (isIP(address) === 0 || address.includes('%') || rest.length > 0) return undefined;
  const network = ipaddr.parse(address);
  const longest = network.kind() === 'ipv4' ? 32 : 128;
  if (prefix === undefined) return { network, prefix: longest };
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > longest) return undefined;
  return { network, prefix: Number(prefix) };
}

function isHostName(entry: string): boolean {
  const name = entry.replace(/\.$/, '');
  // A URL whose host is such a name has to keep it: a parser makes an address of `127.1` and `0x7f.1`.
  return name.length <= 253 && hostName.test(name) && URL.canParse(`http://${name}`) && urlHost(name) === name;
}

function urlHost(name: string): string {
  return new URL(`http://${name}`).hostname;
}

function invalid(place: string, entry: string): OnefoldError {
  return new OnefoldError(
    'config_invalid',
    `${place}: expected host names, addresses or ranges such as localhost, 127.0.0.1 or 10.0.0.0/8, without scheme ` +
      `and port, got ${JSON.stringify(entry)}`,
  );
}
