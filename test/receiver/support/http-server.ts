import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express, type RequestHandler } from 'express';
import type { Receiver } from '../../../src/receiver/create-receiver.js';

/** A receiver behind a real HTTP server. */
export interface HttpReceiver {
  /** Where the sources are: `<url>/<source>`. */
  readonly url: string;
  readonly server: Server;
  close(): Promise<void>;
}

/** Mounts a receiver under `/in`, behind the given middleware, on a free port. */
export async function serveReceiver(receiver: Receiver, ...before: RequestHandler[]): Promise<HttpReceiver> {
  const app: Express = express();
  for (const handler of before) app.use(handler);
  app.use('/in', receiver.express);
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/in`,
    server,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
