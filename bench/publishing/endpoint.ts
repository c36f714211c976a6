import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

// The partner's side of both systems: it answers at once, and tells whoever listens what came in, and when.
const listeners = new Set<ServerResponse>();
const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.flushHeaders();
    listeners.add(response);
    response.once('close', () => listeners.delete(response));
    return;
  }
  request.resume();
  request.once('end', () => {
    // Of the whole machine, so that another process may subtract it.
    const at = Number(process.hrtime.bigint()) / 1e6;
    response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
    for (const listener of listeners) listener.write(`${request.headers['webhook-id']} ${at}\n`);
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`{"msg":"endpoint.ready","url":"http://127.0.0.1:${port}/hook"}\n`);
});
process.once('SIGTERM', () => process.exit(0));
