import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Bits that name a network: what a provider or an operator holds, and no single customer of it. */
const prefixes = { ipv4: 24, ipv6: 48 } as const;

/** The network that an address belongs to, such as `192.0.2.0/24`; undefined for what is no address. */
export function networkOf(address: string): string | undefined {
  if (isIP(address) === 0) return undefined;
  // An IPv4 caller of a socket that listens on both is spelt as IPv6.
  const parsed = ipaddr.process(address);
  const bits = prefixes[parsed.kind()];
  const bytes = parsed.toByteArray().map((byte, index) => (index < bits / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}
