import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What becomes of one request on its way. */
export interface Meddling {
  /** When each copy arrives, ms after the request came; in order. At least one. */
  readonly copiesAfterMs: readonly number[];
  /**
   * `passed`: the answer to the first copy. `lost`: the connection is dropped once that answer is there. `none`: it is
   * dropped at once, and the copies arrive later all the same.
   */
  readonly answer: 'passed' | 'lost' | 'none';
}

/** One request as its sender made it. */
export interface PassedRequest {
  readonly id: string;
  readonly path: string;
}

/** What the receiver answered to one copy. */
export interface PassedAnswer extends PassedRequest {
  readonly status: number;
  /** The receiver's own word for it. */
  readonly onefoldPath: string;
  readonly original: boolean;
}

/** A network between sender and receiver that loses answers, repeats requests and lets them overtake each other. */
export interface MeddlingProxy {
  readonly url: string;
  /** As they were sent, each once, however often it was passed on. */
  readonly requests: readonly PassedRequest[];
  /** In the order in which they came. */
  readonly answers: readonly PassedAnswer[];
  /** Resolves when no copy is on its way any more. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** @param target Where requests go, asked for each copy: `http://host:port`. */
export async function startMeddlingProxy(
  target: () => string,
  meddle: (request: PassedRequest) => Meddling,
): Promise<MeddlingProxy> {
  const requests: PassedRequest[] = [];
  const answers: PassedAnswer[] = [];
  const underWay = new Set<Promise<void>>();
  const track = (work: Promise<void>): void => {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  };

  const server = createServer(async (incoming, outgoing) => {
    incoming.on('error', () => {});
    const body = await readBody(incoming).catch(() => undefined);
    if (!body) return;
    const request = { id: String(incoming.headers['webhook-id']), path: incoming.url ?? '' };
    requests.push(request);
    const { copiesAfterMs, answer } = meddle(request);
    const drop = (): void => void incoming.socket.destroy();
    if (answer === 'none') drop();
    copiesAfterMs.forEach((afterMs, number) => {
      const copy = async (): Promise<void> => {
        await sleep(afterMs);
        const response = await fetch(`${target()}${request.path}`, {
          method: 'POST',
          headers: endToEnd(incoming.headers),
          body: new Uint8Array(body),
          signal: AbortSignal.timeout(10_000),
        });
        const text = await response.text();
        const onefoldPath = response.headers.get('onefold-path') ?? '';
        answers.push({ ...request, status: response.status, onefoldPath, original: number === 0 });
        if (number > 0 || answer === 'none') return;
        if (answer === 'lost') drop();
        else outgoing.writeHead(response.status, { 'content-type': 'application/json' }).end(text);
      };
      // The receiver is away, which its sender sees as well.
      track(copy().catch(() => number === 0 && drop()) as Promise<void>);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answers,
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Without those that belong to one connection. */
function endToEnd(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = Object.entries(headers).filter(
    (header): header is [string, string] =>
      typeof header[1] === 'string' &&
      !['connection', 'host', 'content-length', 'transfer-encoding'].includes(header[0]),
  );
  return Object.fromEntries(kept);
}
