import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { EgressRules } from '../../runtime/egress-rules.js';

/** Whether an address may be connected to, and why not. */
export type AddressVerdict = { readonly allowed: true } | { readonly allowed: false; readonly because: string };

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Global unicast, all that is given out of IPv6 so far; what is outside is refused whatever may become of it. */
const globalUnicast = [ipaddr.IPv6.parse('2000::'), 3] as [ipaddr.IPv6, number];

/** By which a host with IPv6 only reaches IPv4: there, DNS64 answers with it for every name without an AAAA record. */
const translatedPrefix = [ipaddr.IPv6.parse('64:ff9b::'), 96] as [ipaddr.IPv6, number];

/** Public by its number, but on machines of Azure it is the platform's own: instance metadata and credentials. */
const platformAddresses: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * Judges an address as a number, in whichever spelling it comes. Public unicast addresses are allowed, and what the rules
 * list; all else is refused: private, loopback, link-local (with it, clouds' metadata), multicast, reserved, and what
 * cannot be parsed. An IPv4 address inside an IPv6 one is judged as IPv4 where the form is in use (IPv4-mapped, and
 * NAT64 under 64:ff9b::/96). The forms that are not (IPv4-compatible, 64:ff9b:1::/48, 6to4, Teredo) are refused with
 * whatever they hold, since they can lead anywhere and no public receiver needs them.
 *
 * @see RFC 6890 with the IANA registries of special-purpose addresses; RFC 6052 for NAT64.
 */
export function judgeAddress(address: string, rules: EgressRules): AddressVerdict {
  const parsed = parse(address);
  if (!parsed) return { allowed: false, because: 'it is no address' };
  if (isListed(address, rules)) return { allowed: true };
  const because = whyNotPublic(innerAddress(parsed));
  return because === undefined ? { allowed: true } : { allowed: false, because };
}

/** Whether the rules list the address, or the IPv4 address in it, and so allow it although it is not public. */
export function isListed(address: string, { ranges }: EgressRules): boolean {
  const parsed = parse(address);
  if (!parsed) return false;
  return [parsed, innerAddress(parsed)].some((one) =>
    ranges.some(({ network, prefix }) => one.kind() === network.kind() && one.match(network, prefix)),
  );
}

function parse(address: string): Address | undefined {
  // Not with a zone, which names a network interface of this machine.
  if (isIPv6(address) && !address.includes('%')) {
    // In the form of URLs, which is hex alone: the library takes ::8.8.8.8 for an IPv4-mapped address, which it is not.
    return ipaddr.IPv6.parse(new URL(`http://[${address}]`).hostname.slice(1, -1));
  }
  return ipaddr.IPv4.isValid(address) ? ipaddr.IPv4.parse(address) : undefined;
}

/** The IPv4 address that an IPv6 one stands for, where the form is in use; else the address itself. */
function innerAddress(address: Address): Address {
  if (!isVersion6(address)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(translatedPrefix) ? new ipaddr.IPv4(address.toByteArray().slice(-4)) : address;
}

function whyNotPublic(address: Address): string | undefined {
  const range = address.range();
  if (range !== 'unicast') return `it is ${rangeInWords[range] ?? 'reserved'}`;
  if (isVersion6(address) && !address.match(globalUnicast)) return 'it is outside the public addresses of IPv6';
  return platformAddresses.has(address.toString()) ? "it is the platform's own" : undefined;
}

/** Of ranges that people know; the others are told as reserved. */
const rangeInWords: Readonly<Record<string, string>> = {
  unspecified: 'unspecified',
  loopback: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  carrierGradeNat: 'private',
  linkLocal: 'link-local',
  multicast: 'multicast',
  broadcast: 'broadcast',
};

function isVersion6(address: Address): address is ipaddr.IPv6 {
  return address.kind() === 'ipv6';
}
