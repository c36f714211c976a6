import { isIP, type LookupFunction, type Socket, connect as tcpConnect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { buildConnector } from 'undici';
import type { EgressRules } from '../../runtime/egress-rules.js';
import { classifyConnectError } from './classify-connect-error.js';
import { NoConnection } from './no-connection.js';
import type { Resolve } from './resolve-host.js';
import { resolveJudged } from './resolve-judged.js';

/** What a connector connects by. */
export interface ConnectorOptions {
  readonly rules: EgressRules;
  readonly resolve: Resolve;
  /** Of resolving, connecting and the TLS handshake together, ms. */
  readonly connectTimeoutMs: number;
  /** PEM of the authorities that are trusted, in place of Node's. */
  readonly ca?: string;
}

/** Of one address where there are several, ms. Node's own 250 ms is less than a way around the world takes twice. */
const addressTimeoutMs = 1_000;

/** After which the operating system asks whether the other side of a silent connection still lives, ms. */
const probeAfterMs = 60_000;

/**
 * Makes undici's connections. The addresses of the host are judged, and those judged are handed to the socket, so that
 * nothing is resolved a second time between the judgement and the connection. Fails with `NoConnection`.
 */
export function judgedConnector(options: ConnectorOptions): buildConnector.connector {
  return ({ hostname, protocol, port }, callback) => {
    const secure = protocol === 'https:';
    open(options, hostname, Number(port) || (secure ? 443 : 80), secure).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

async function open(options: ConnectorOptions, host: string, port: number, secure: boolean): Promise<Socket> {
  const { rules, resolve, connectTimeoutMs, ca } = options;
  let socket: Socket | undefined;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new NoConnection('connect_timeout', `no connection to ${host} within ${connectTimeoutMs} ms`));
      socket?.destroy();
    }, connectTimeoutMs);
  });
  try {
    const resolved = await Promise.race([resolveJudged(host, rules, resolve), late]);
    if (resolved.kind === 'refused') throw new NoConnection('destination_refused', resolved.message);
    if (resolved.kind === 'unresolved') throw new NoConnection('dns_failed', resolved.message);
    const target = {
      host,
      port,
      lookup: handOver(resolved.addresses),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: addressTimeoutMs,
    };
    socket = secure
      ? tlsConnect({
          ...target,
          ...(isIP(host) > 0 ? {} : { servername: host }),
          ALPNProtocols: ['http/1.1'],
          // NODE_TLS_REJECT_UNAUTHORIZED is not for other people's endpoints.
          rejectUnauthorized: true,
          ...(ca === undefined ? {} : { ca }),
        })
      : tcpConnect(target);
    // Options of these names reach a TCP socket only.
    socket.setNoDelay(true).setKeepAlive(true, probeAfterMs);
    return await Promise.race([established(socket, host, secure), late]);
  } finally {
    clearTimeout(timer);
    late.catch(() => {});
  }
}

/** A look-up that answers with what was judged. Node does without it where the host is an address. */
function handOver(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, callback) => {
    if (all) callback(null, found);
    else callback(null, found[0]!.address, found[0]!.family);
  };
}

function established(socket: Socket, host: string, secure: boolean): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let connected = false;
    socket.once('connect', () => {
      connected = true;
    });
    socket.once(secure ? 'secureConnect' : 'connect', () => resolve(socket));
    // Stays: an error that comes before undici listens must not end the process.
    socket.on('error', (error) => reject(classifyConnectError(error, host, connected)));
    socket.once('close', () =>
      reject(new NoConnection('connection_failed', `the connection to ${host} was closed at once`)),
    );
  });
}
