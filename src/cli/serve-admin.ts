import { createServer } from 'node:http';
import express from 'express';
import type { AdminTokens } from '../admin/admin-tokens.js';
import { createAdminApi } from '../admin/create-admin-api.js';
import type { Onefold } from '../onefold.js';
import { operationsContext } from '../operations/context.js';
import { listenOn } from './listen-on.js';

/** A request that trickles in for longer would hold up the end of the process. */
const requestTimeoutMs = 30_000;

/** What a stopping API allows for requests that are under way; a recovery that takes longer goes on under its id. */
const lastAnswersMs = 5_000;

/** The admin API, listening. */
export interface ServedAdmin {
  /** `http://127.0.0.1:8090` */
  readonly url: string;
  /** Stops listening, and ends what is still under way after five seconds. */
  stop(): Promise<void>;
}

/**
 * Serves the admin API. Beside it, without a token, `/healthz` answers while the process lives.
 *
 * @param listen Default: 127.0.0.1. Whatever the address, a token is needed.
 * @throws {OnefoldError} `config_missing` without a token, `config_invalid` for one that is too short and when the port is
 * taken.
 */
export async function serveAdmin(
  onefold: Onefold,
  { host = '127.0.0.1', port, tokens }: { readonly host?: string; readonly port: number; readonly tokens: AdminTokens },
): Promise<ServedAdmin> {
  const context = onefold[operationsContext];
  const api = createAdminApi({ context, publish: (publication) => onefold.publish(publication) }, tokens);
  const app = express();
  app.disable('x-powered-by');
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  app.use(api);
  const server = createServer({ requestTimeout: requestTimeoutMs }, app);
  const taken = await listenOn(server, { host, port, setBy: '--port or ONEFOLD_ADMIN_PORT' });
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${taken}`;
  context.log.info({ url }, 'admin.ready');
  return {
    url,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), lastAnswersMs);
      await closed;
      clearTimeout(cut);
      context.log.info({ url }, 'admin.stopped');
    },
  };
}
