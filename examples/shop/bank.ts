import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A bank to try things out with, in this process. It refunds what it is asked to, and for order-48 it does so and then
 * breaks the connection, so that nobody can tell from here what happened. It neither dedupes nor can be asked.
 */
let url: Promise<string> | undefined;

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const { order } = JSON.parse(body) as { order: string };
    const refund = `rf_${randomUUID().slice(0, 8)}`;
    process.stderr.write(`the bank has refunded ${order} as ${refund}\n`);
    if (order === 'order-48') request.socket.destroy();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ refund }));
  });
}).unref();

/** Its address; opened when it is first needed, and it keeps no process alive. */
export function bankUrl(): Promise<string> {
  url ??= new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/refunds`));
  });
  return url;
}
