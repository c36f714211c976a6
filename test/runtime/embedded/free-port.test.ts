import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { freePort, isPortFree } from '../../../src/runtime/embedded/free-port.js';

const servers: Server[] = [];

function occupy(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
    servers.push(server);
  });
}

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

test('a free port is given as wished', async () => {
  const port = await freePort(0);
  expect(await freePort(port)).toBe(port);
  expect(await isPortFree(port)).toBe(true);
});

test('a taken port is replaced by one after it', async () => {
  const port = await freePort(0);
  await occupy(port);
  expect(await isPortFree(port)).toBe(false);
  expect(await freePort(port)).toBeGreaterThan(port);
});

test('port 0 gives any free one', async () => {
  expect(await freePort(0)).toBeGreaterThan(1023);
});

test('an address that is not of this machine has no free port', async () => {
  await expect(freePort(8080, '203.0.113.1')).rejects.toMatchObject({ code: 'embedded_unavailable' });
});
