import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OnefoldError } from '../errors.js';

/**
 * Makes a server listen.
 *
 * @param setBy What sets the port, for the message: `--port or ONEFOLD_PORT`.
 * @returns The port, which the system chose where 0 was wished.
 * @throws {OnefoldError} `config_invalid` when the port is taken or not allowed.
 */
export function listenOn(
  server: Server,
  { host, port, setBy }: { readonly host: string; readonly port: number; readonly setBy: string },
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${cause.code})`;
      const message = `port ${port} on ${host} ${why}: choose another by ${setBy}`;
      reject(new OnefoldError('config_invalid', message, { cause }));
    });
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port));
  });
}
