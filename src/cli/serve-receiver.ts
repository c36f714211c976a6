import { createServer } from 'node:http';
import express from 'express';
import type { Onefold } from '../onefold.js';
import { operationsContext } from '../operations/context.js';
import { listenOn } from './listen-on.js';

/** Where the receiver hangs below the server's root. */
const mountPath = '/webhooks';

/** A body that trickles in for longer would hold up the end of the process; no provider is that slow. */
const requestTimeoutMs = 30_000;

/** A readiness probe asks often, and must answer before its own timeout. */
const readyWithinMs = 1500;

/**
 * What a stopping receiver allows beyond the longest time that a source holds a request, ms: for a body that is still
 * arriving. A connection that brings no request by then would hold the process for a minute, and is cut.
 */
const lastAnswersMs = 3_000;

/** A receiver that listens. */
export interface ServedReceiver {
  /** `http://127.0.0.1:8080/webhooks` */
  readonly url: string;
  readonly sources: readonly { readonly name: string; readonly url: string }[];
  /** Stops listening, answers what is under way, refuses what still comes over open connections, then ends those. */
  stop(): Promise<void>;
}

/**
 * Serves the receiver with its health checks: `/healthz` answers while the process lives, `/readyz` while it can accept
 * events.
 *
 * @throws {OnefoldError} `config_invalid` when the port is taken; `config_missing`, `secret_invalid` for a source whose
 * secrets cannot be used: found at the start, not with the first delivery.
 */
export async function serveReceiver(
  onefold: Onefold,
  listen: { readonly host: string; readonly port: number },
): Promise<ServedReceiver> {
  for (const source of onefold.catalogue.sources) source.preset.readSecrets();
  const context = onefold[operationsContext];
  let draining = false;
  const app = express();
  app.disable('x-powered-by');
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  app.get('/readyz', async (_request, response) => {
    const temporal = !draining && (await answers(context.client));
    response.status(temporal ? 200 : 503).json({ status: temporal ? 'ready' : 'not ready', draining, temporal });
  });
  app.use(mountPath, onefold.receiver);
  const server = createServer({ requestTimeout: requestTimeoutMs }, app);
  const port = await listenOn(server, { ...listen, setBy: '--port or ONEFOLD_PORT' });
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  const url = `http://${host}:${port}${mountPath}`;
  context.log.info({ url }, 'receiver.ready');
  return {
    url,
    sources: onefold.catalogue.sources.map(({ name }) => ({ name, url: `${url}/${name}` })),
    async stop() {
      draining = true;
      // Stops listening at once; connections that are open are answered, with `connection: close`, until they end.
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const settling = onefold.catalogue.sources.map(({ settings }) =>
        settings.acknowledge === 'settled' ? settings.settleWithinMs : 0,
      );
      const cut = setTimeout(() => server.closeAllConnections(), Math.max(...settling, 0) + lastAnswersMs);
      await onefold.drain();
      server.closeIdleConnections();
      await closed;
      clearTimeout(cut);
      context.log.info({ url }, 'receiver.stopped');
    },
  };
}

async function answers(client: Onefold[typeof operationsContext]['client']): Promise<boolean> {
  try {
    await client.withDeadline(Date.now() + readyWithinMs, () => client.workflowService.getSystemInfo({}));
    return true;
  } catch {
    return false;
  }
}
