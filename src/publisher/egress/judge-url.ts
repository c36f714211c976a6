import { isIP } from 'node:net';
import { OnefoldError } from '../../errors.js';
import type { EgressRules } from '../../runtime/egress-rules.js';
import { isListed, judgeAddress } from './judge-address.js';
import { hostOf, isLocalhost } from './url-host.js';

/** Longer ones are refused by many servers, and by some proxies on the way; counted as sent, percent-encoded. */
const longestUrl = 2048;

/**
 * Judges a URL by what it says, without asking the network: what its name resolves to is judged when connecting.
 *
 * https only, but for hosts that the rules list; no credentials and no fragment, which would be kept and shown with the
 * URL, and never sent; no spaces, control characters or backslashes, which parsers read differently. An address is judged
 * as a number, `localhost` as the loopback addresses that it stands for.
 *
 * @returns The URL as it will be used; to be kept in this form, so that what is kept is what was judged.
 * @throws {OnefoldError} `destination_refused`; the message is fit for the owner of the endpoint.
 */
export function judgeUrl(text: string, rules: EgressRules): URL {
  if (/[\s\\\p{Cc}]/u.test(text)) throw refused('it holds spaces, control characters or backslashes');
  if (!URL.canParse(text)) throw refused('it is no absolute URL');
  const url = new URL(text);
  if (url.href.length > longestUrl) throw refused(`it is longer than ${longestUrl} characters`);
  if (!['https:', 'http:'].includes(url.protocol)) throw refused(`its scheme is not https`);
  if (url.username !== '' || url.password !== '') throw refused('it holds a user name or a password');
  if (text.includes('#')) throw refused('it has a fragment (#…)');

  const host = hostOf(url);
  const listed = judgeHost(host, rules);
  if (url.protocol === 'http:' && !listed) throw refused('its scheme is not https');
  // Certificates and SNI know no dot at the end.
  if (url.hostname.endsWith('.')) url.hostname = host;
  return url;
}

/** Whether the rules list the host. Throws where its address is known, or it can have none that is public. */
function judgeHost(host: string, rules: EgressRules): boolean {
  if (rules.hosts.has(host)) return true;
  const addresses = isLocalhost(host) ? ['127.0.0.1', '::1'] : isIP(host) > 0 ? [host] : [];
  for (const address of addresses) {
    const verdict = judgeAddress(address, rules);
    if (!verdict.allowed) throw refused(`its address is not public: ${verdict.because}`);
  }
  if (addresses.length > 0) return addresses.every((address) => isListed(address, rules));
  // Resolved by the machine's search list, which leads to its own network.
  if (!host.includes('.')) throw refused('its host is a name without a dot, which no public host has');
  if (host.includes('..')) throw refused('its host is no name of a host');
  return false;
}

function refused(why: string): OnefoldError {
  return new OnefoldError('destination_refused', `the URL is refused: ${why}`);
}
