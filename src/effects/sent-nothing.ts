/** Codes of `getaddrinfo`: there was no address to send anything to. */
const nameCodes: ReadonlySet<string> = new Set(['EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME', 'ENOTFOUND']);

/**
 * Codes of a server's certificate that the client did not accept. The client judges it when the handshake ends, before it
 * hands the connection to the request, in TLS 1.2 and 1.3. Alerts of the server (`ERR_SSL_*`, `EPROTO`) are left out: in
 * TLS 1.3 it may send one about the client's certificate after the request has arrived.
 *
 * @see Node.js, TLS, "X509 certificate error codes".
 */
const certificateCodes: ReadonlySet<string> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CRL_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
  'CRL_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** undici destroys a socket that is not connected in time, TLS included, before any request is written to it. */
const connectTimeout = 'UND_ERR_CONNECT_TIMEOUT';

/** Names of the errors with which `AbortSignal` ends a request, wherever it is. */
const abortNames: ReadonlySet<unknown> = new Set(['AbortError', 'TimeoutError']);

/** Codes of a connection which broke, or may have, while a request was under way. */
const brokenCodes: ReadonlySet<string> = new Set([
  'ABORT_ERR',
  'ECONNABORTED',
  'ECONNRESET',
  'EPIPE',
  'EPROTO',
  'ERR_CANCELED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'UND_ERR_ABORTED',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/**
 * Says of one error of Node or undici whether it came before the first byte of a request was sent.
 *
 * @returns True or false where it tells; undefined where it is no error of a connection, or a client has copied the code
 *   of another error and left out where it came from.
 */
export function sentNothing(error: object): boolean | undefined {
  const { code, syscall, name } = error as { code?: unknown; syscall?: unknown; name?: unknown };
  if (abortNames.has(name)) return false;
  if (typeof code !== 'string') return undefined;
  // Node writes nothing before `connect` has succeeded. A reset is left out: it differs by a hair from one while reading.
  if (syscall === 'connect') return code !== 'ECONNRESET';
  if (certificateCodes.has(code) || code === connectTimeout) return true;
  if (nameCodes.has(code) && (syscall === undefined || syscall === 'getaddrinfo')) return true;
  if (code === 'ECONNREFUSED' && syscall === undefined) return true;
  return typeof syscall === 'string' || brokenCodes.has(code) || code.startsWith('ERR_SSL_') ? false : undefined;
}
