import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Servers } from './servers.js';
import { startProcess } from './start-process.js';

/** A receiver and a worker, each a process of its own. */
export interface System {
  /** Where deliveries go. */
  readonly url: string;
  readonly receiverPid: number;
  readonly workerPid: number;
  stop(): Promise<void>;
}

/** The systems that are compared, by name. */
export const systemNames = ['onefold', 'bare'] as const;
export type SystemName = (typeof systemNames)[number];

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const main = path('../dist/cli/main.js');
const config = path('./onefold.ts');

/** How each is started: Onefold as it is built, the bare one from its TypeScript, which costs at the start alone. */
const commands: Readonly<Record<SystemName, { readonly receiver: string[]; readonly worker: string[] }>> = {
  onefold: { receiver: [main, 'receiver', '--config', config], worker: [main, 'worker', '--config', config] },
  bare: {
    receiver: ['--import', 'tsx', path('./bare/receiver.ts')],
    worker: ['--import', 'tsx', path('./bare/worker.ts')],
  },
};

/** Starts a system; resolves when it takes deliveries and work. */
export async function startSystem(name: SystemName, servers: Servers): Promise<System> {
  const environment = {
    ...process.env,
    DATABASE_URL: servers.databaseUrl,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TASK_QUEUE: 'bare',
    ONEFOLD_HOST: '127.0.0.1',
    ONEFOLD_PORT: '0',
    ONEFOLD_TASK_QUEUE: 'bench',
  };
  const [worker, receiver] = await Promise.all(
    (['worker', 'receiver'] as const).map((part) => {
      const log = createWriteStream(join(servers.folder, `${name}-${part}.log`), { flags: 'a' });
      return startProcess({ args: commands[name][part], env: environment, readyLine: `${part}.ready`, log });
    }),
  );
  if (!worker || !receiver) throw new TypeError('two processes were started');
  return {
    url: `${receiver.ready.url}/bench`,
    receiverPid: receiver.pid,
    workerPid: worker.pid,
    async stop() {
      await receiver.stop();
      await worker.stop();
    },
  };
}
