import { createServer } from 'node:net';
import { OnefoldError } from '../../errors.js';

/** How many ports after the wished one are tried; more than a handful taken means that something else is wrong. */
const portsTried = 50;

/**
 * A port of 127.0.0.1 that nobody listens on: the wished one, else the next free one after it; for 0, any.
 * Another process may take it before it is used, so callers that fail to bind ask again.
 *
 * @throws {OnefoldError} `embedded_unavailable` when 50 ports in a row are taken.
 */
export async function freePort(wished: number, host = '127.0.0.1'): Promise<number> {
  if (wished === 0) {
    const port = await listenOnce(0, host);
    if (port !== undefined) return port;
  }
  for (let port = wished; port < wished + portsTried && port <= 65_535; port++) {
    if ((await listenOnce(port, host)) !== undefined) return port;
  }
  throw new OnefoldError(
    'embedded_unavailable',
    `no free port found on ${host} from ${wished} on (${portsTried} tried). Name another port, or end what uses them.`,
  );
}

/** Whether nobody listens on the port. */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return (await listenOnce(port, host)) !== undefined;
}

function listenOnce(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}
