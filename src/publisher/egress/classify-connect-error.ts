import { NoConnection } from './no-connection.js';

/**
 * Says by code what kept a connection from coming about. Of several addresses that failed, one that refused says most:
 * there the host was reached.
 *
 * @param connected Whether TCP was connected, so that the TLS handshake is what failed.
 */
export function classifyConnectError(error: Error, host: string, connected: boolean): NoConnection {
  const codes = codesOf(error);
  const named = codes.length > 0 ? ` (${codes.join(', ')})` : '';
  const options = { cause: error };
  if (connected) return new NoConnection('tls_failed', `no trusted TLS connection to ${host}${named}`, options);
  if (codes.includes('ECONNREFUSED')) {
    return new NoConnection('connection_refused', `${host} refused the connection`, options);
  }
  if (codes.length > 0 && codes.every((code) => code === 'ETIMEDOUT')) {
    return new NoConnection('connect_timeout', `no connection to ${host} came about in time`, options);
  }
  return new NoConnection('connection_failed', `${host} could not be reached${named}`, options);
}

/** The codes of an error, or of those that it gathers, each once. They name no address, as messages do. */
function codesOf(error: Error): readonly string[] {
  const each = error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
  const codes = each.map((one: unknown) => (one as { code?: unknown } | null)?.code);
  return [...new Set(codes.filter((code): code is string => typeof code === 'string'))];
}
