import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OnefoldError } from '../errors.js';

/**
 * Makes a server listen.
 *
 * @returns The port, which the system chose where 0 was wished.
 * @throws {OnefoldError} `config_invalid` when the port is taken or not allowed.
 */
export function listenOn(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${cause.code})`;
      const message = `port ${port} on ${host} ${why}: choose another by its option or variable`;
      reject(new OnefoldError('config_invalid', message, { cause }));
    });
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port));
  });
}
