import { createServer } from 'node:http';
import type { Onefold } from '../onefold.js';
import { operationsContext } from '../operations/context.js';
import { listenOn } from './listen-on.js';

/**
 * Serves `/metrics` for Prometheus on a port of its own, since the receiver's port is open to the world.
 *
 * @returns What ends it.
 * @throws {OnefoldError} `config_invalid` when the port is taken.
 */
export async function serveMetrics(
  onefold: Onefold,
  listen: { readonly host: string; readonly port: number },
): Promise<() => void> {
  const { registry } = onefold.metrics;
  const server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  const port = await listenOn(server, { ...listen, setBy: 'ONEFOLD_METRICS_PORT' });
  onefold[operationsContext].log.info({ url: `http://${listen.host}:${port}/metrics` }, 'metrics.ready');
  return () => {
    server.close();
    server.closeAllConnections();
  };
}
