import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Stands between the receiver and Temporal, and fails as networks do. */
export interface SwitchableProxy {
  readonly address: string;
  /**
   * `up` forwards; `refuse` closes everything, the port included; `silent` accepts and never answers, as behind a network
   * that drops packets. A connection that was silent once stays so: only a new one gets through again.
   */
  become(state: 'up' | 'refuse' | 'silent'): Promise<void>;
  close(): Promise<void>;
}

/** Makes a proxy to `host:port` that is up. */
export async function startProxy(target: string): Promise<SwitchableProxy> {
  const [host, targetPort] = target.split(':') as [string, string];
  const sockets = new Set<Socket>();
  const connections = new Set<{ dead: boolean }>();
  let state: 'up' | 'refuse' | 'silent' = 'up';
  let port = 0;
  let server: Server | undefined;

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    return socket;
  };
  const forward = (from: Socket, to: Socket, connection: { dead: boolean }): void => {
    from.on('data', (chunk) => {
      if (!connection.dead) to.write(chunk);
    });
    from.once('close', () => to.destroy());
  };
  const listen = async (): Promise<void> => {
    server = createServer((incoming) => {
      keep(incoming);
      if (state !== 'up') return void incoming.resume();
      const outgoing = keep(connect({ host, port: Number(targetPort) }));
      const connection = { dead: false };
      connections.add(connection);
      forward(incoming, outgoing, connection);
      forward(outgoing, incoming, connection);
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (!server) return;
    server.close();
    await once(server, 'close');
    server = undefined;
  };

  await listen();
  return {
    get address() {
      return `127.0.0.1:${port}`;
    },
    async become(next) {
      const was = state;
      state = next;
      if (next === 'silent') for (const connection of connections) connection.dead = true;
      if (next === 'refuse') await stop();
      else if (was === 'refuse') await listen();
    },
    close: stop,
  };
}
