/** The host of a URL as a name or a bare address: in lower case, without brackets, and without a dot at the end. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/**
 * Whether a name stands for this machine, whatever a resolver says.
 *
 * @see RFC 6761, section 6.3.
 */
export function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}
