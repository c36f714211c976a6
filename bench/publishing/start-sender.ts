import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Servers } from '../servers.js';
import { type StartedProcess, startProcess } from '../start-process.js';
import type { SystemName } from '../systems.js';

/** A publisher and a worker, each a process of its own. */
export interface Sender {
  readonly publisher: StartedProcess;
  readonly worker: StartedProcess;
  stop(): Promise<void>;
}

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const typescript = (relative: string): string[] => ['--import', 'tsx', path(relative)];

/** Onefold's worker, a relay within, as it is built; the rest from TypeScript, which costs at the start alone. */
const commands: Readonly<Record<SystemName, { readonly publisher: string[]; readonly worker: string[] }>> = {
  onefold: {
    publisher: typescript('./onefold-publisher.ts'),
    worker: [path('../../dist/cli/main.js'), 'worker', '--config', path('./onefold.ts')],
  },
  bare: { publisher: typescript('./bare-publisher.ts'), worker: typescript('./bare-worker.ts') },
};

/** Seals nothing outside of a measurement. */
export const secretsKeys = 'bench:b25lZm9sZC1iZW5jaC1zZWNyZXRzLWtleS0wMDAwMDE=';

/** Starts the endpoint that both systems send to. */
export function startEndpoint(servers: Servers): Promise<StartedProcess> {
  return startProcess({
    args: typescript('./endpoint.ts'),
    env: process.env,
    readyLine: 'endpoint.ready',
    log: createWriteStream(join(servers.folder, 'endpoint.log')),
  });
}

/** Starts a system; resolves when it publishes and sends. */
export async function startSender(name: SystemName, servers: Servers, endpoint: string): Promise<Sender> {
  const env = {
    ...process.env,
    DATABASE_URL: servers.databaseUrl,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    ENDPOINT_URL: endpoint,
    TASK_QUEUE: 'bare-sender',
    ONEFOLD_TASK_QUEUE: 'bench-sender',
    ONEFOLD_SECRETS_KEYS: secretsKeys,
  };
  const start = (part: 'publisher' | 'worker'): Promise<StartedProcess> =>
    startProcess({
      args: commands[name][part],
      env,
      readyLine: `${part}.ready`,
      log: createWriteStream(join(servers.folder, `${name}-${part}.log`), { flags: 'a' }),
    });
  const [publisher, worker] = await Promise.all([start('publisher'), start('worker')]);
  return {
    publisher,
    worker,
    async stop() {
      await publisher.stop();
      await worker.stop();
    },
  };
}
