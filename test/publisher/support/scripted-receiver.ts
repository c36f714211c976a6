import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as it came over the wire. */
export interface SeenRequest {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
  /** Unix ms. */
  readonly at: number;
}

/** How a request is answered: a status, or whatever the test does with the response. */
export type Script = (
  request: SeenRequest,
  nth: number,
) => number | Promise<number> | ((response: ServerResponse) => void);

/** A partner's endpoint: a real local HTTP server that answers as it is told and keeps what it got. */
export interface ScriptedReceiver {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Requests under one webhook-id. */
  of(id: string): SeenRequest[];
  answer(script: Script): void;
  close(): Promise<void>;
}

export async function startScriptedReceiver(): Promise<ScriptedReceiver> {
  const requests: SeenRequest[] = [];
  let script: Script = () => 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', async () => {
      const seen: SeenRequest = {
        id: String(request.headers['webhook-id']),
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        path: request.url ?? '',
        at: Date.now(),
      };
      requests.push(seen);
      const answer = await script(seen, requests.length);
      if (typeof answer === 'function') answer(response);
      else response.writeHead(answer, { 'content-type': 'text/plain' }).end(`status ${answer}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    requests,
    of: (id) => requests.filter((request) => request.id === id),
    answer: (next) => {
      script = next;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
