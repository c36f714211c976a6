import { createServer } from 'node:http';
import type { Onefold } from '../onefold.js';
import { operationsContext } from '../operations/context.js';
import { measureParked } from '../operations/measure-parked.js';
import { measurePaused } from '../operations/pauses/measure-paused.js';
import { within } from '../runtime/within.js';
import { listenOn } from './listen-on.js';

/** A scrape that waits longer for PostgreSQL goes without what only PostgreSQL knows. */
const measureWithinMs = 2000;

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
  const context = onefold[operationsContext];
  const server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    const measured = Promise.all([measureParked(context), measurePaused(context)]);
    const collected = within(measureWithinMs, measured, () => new Error('late')).catch(() => {});
    collected
      .then(() => registry.metrics())
      .then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
  });
  const port = await listenOn(server, { ...listen, setBy: 'ONEFOLD_METRICS_PORT' });
  context.log.info({ url: `http://${listen.host}:${port}/metrics` }, 'metrics.ready');
  return () => {
    server.close();
    server.closeAllConnections();
  };
}
