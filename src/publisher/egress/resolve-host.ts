import { promises as dns } from 'node:dns';
import type { EgressRules } from '../../runtime/egress-rules.js';
import { within } from '../../runtime/within.js';
import { isLocalhost } from './url-host.js';

/** Finds all addresses of a host, the preferred first. Rejects where the name has none, or cannot be resolved now. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Of one question; a second one still fits into the time for connecting. */
const questionTimeoutMs = 1_000;

/**
 * Once one family of addresses is there, the other is waited for so long, ms: a name server that drops the questions of
 * one would else use up the time for connecting.
 *
 * @see RFC 8305, section 3. It waits 50 ms, for the sake of people; here addresses are worth more than milliseconds.
 */
const otherFamilyMs = 250;

/**
 * The resolver of destinations. Names of others are asked of the name servers without Node's thread pool: it carries two
 * look-ups of the operating system at once, so that a few names whose servers do not answer would hold up the deliveries
 * to every other endpoint. Names that the rules list are the operator's own, and go through the operating system, which
 * knows what stands in `/etc/hosts` and in the search list.
 *
 * @param servers Name servers, as `10.0.0.53` or `10.0.0.53:5353`. Default: the machine's.
 */
export function hostResolver(rules: EgressRules, servers?: readonly string[]): Resolve {
  const resolver = new dns.Resolver({ timeout: questionTimeoutMs, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (host) => {
    if (rules.hosts.has(host)) return (await dns.lookup(host, { all: true })).map(({ address }) => address);
    if (isLocalhost(host)) return ['127.0.0.1', '::1'];
    return addressesOf([resolver.resolve4(host), resolver.resolve6(host)]);
  };
}

/** The addresses of all families that answer, in their order; a family without any shortens the wait for no other. */
async function addressesOf(families: readonly Promise<readonly string[]>[]): Promise<readonly string[]> {
  const found: (readonly string[])[] = families.map(() => []);
  const asked = families.map(async (family, index) => {
    const addresses = await family;
    if (addresses.length === 0) throw new Error('the name has no address');
    found[index] = addresses;
  });
  await Promise.any(asked).catch(({ errors }: AggregateError) => {
    throw errors[0];
  });
  const late = () => new Error('the other family did not answer in time');
  await within(otherFamilyMs, Promise.allSettled(asked), late).catch(() => {});
  return found.flat();
}
