import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';

/** A receiver that answers with bytes, and counts what reaches it. */
export interface RawReceiver {
  readonly port: number;
  /** `http://127.0.0.1:<port>/hook`, or https. */
  readonly url: string;
  /** Every request as it came, with its body. */
  readonly requests: readonly string[];
  /** Sockets ever accepted. */
  readonly connections: number;
  /** Resolves when all its sockets are closed. */
  idle(): Promise<void>;
}

/** How to answer a whole request; the number counts from 1. */
export type Answer = (socket: Socket, number: number) => void;

/** What to do instead of an HTTP server's work. */
export interface RawReceiverOptions {
  readonly host?: string;
  readonly tls?: TlsOptions;
  /** Told of each socket, before any byte. */
  readonly onConnection?: (socket: Socket) => void;
}

/** Starts a receiver for one test. */
export async function rawReceiver(answer: Answer, options: RawReceiverOptions = {}): Promise<RawReceiver> {
  const { host = '127.0.0.1', tls, onConnection } = options;
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const serve = (socket: Socket): void => {
    let received = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (!isWhole(received)) return;
      requests.push(received);
      received = '';
      answer(socket, requests.length);
    });
  };
  const server: Server = tls ? createTlsServer(tls, serve) : createServer(serve);
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    onConnection?.(socket);
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http${tls ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${port}/hook`,
    requests,
    get connections() {
      return connections;
    },
    async idle() {
      while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
}

/** Answers with a status and headers, and nothing more. */
export function answers(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  const lines = Object.entries({ 'content-length': '0', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return (socket) => void socket.write(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`);
}

/** A port on which nothing listens. */
export async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function isWhole(request: string): boolean {
  const end = request.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(request)?.[1];
  return end >= 0 && request.length >= end + 4 + Number(length ?? 0);
}
