import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { forkWorker } from '../../../hazards/support/spawn-worker.js';
import { startProxy } from '../../../receiver/support/switchable-proxy.js';
import { type DeliveryStage, secretsKeys } from '../../support/delivery-stage.js';

/** What a sender process is told. */
export interface SenderSettings {
  readonly address: string;
  readonly taskQueue: string;
  readonly databaseUrl: string;
  readonly secretsKeys: string;
}

/** What its parent hears when an attempt at this publication halts. */
export const heldWord = (publication: string): string => `held ${publication}`;

/** A worker of deliveries in a process of its own, whose first attempts halt at the step their publication begins with. */
export interface Sender {
  /** Resolves when an attempt at each of these stands still. */
  held(publications: readonly string[]): Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /**
   * SIGSTOP, and cut off from Temporal as a host that is gone: while its connections stand, the server hands it tasks that
   * it never takes up.
   */
  freeze(): Promise<void>;
  /** SIGCONT; attempts go on from their step, and have time to come to whatever they do next. */
  wake(): Promise<void>;
  /** Lets it end in order, its attempts first. */
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL('./sender-process.ts', import.meta.url));

/** Starts a sender on the queue and database of a stage; resolves when it takes work. */
export async function spawnSender({ taskQueue, databaseUrl }: DeliveryStage): Promise<Sender> {
  const temporal = await startProxy(inject('temporalAddress'));
  const { address } = temporal;
  const settings: SenderSettings = { address, taskQueue, databaseUrl, secretsKeys };
  const worker = await forkWorker(script, settings);
  void worker.exited.then(() => temporal.close());
  return {
    async held(publications) {
      for (const publication of publications) await worker.says(heldWord(publication));
    },
    async kill() {
      worker.kill('SIGKILL');
      await worker.exited;
    },
    async freeze() {
      worker.kill('SIGSTOP');
      await temporal.become('refuse');
    },
    async wake() {
      await temporal.become('up');
      worker.kill('SIGUSR2');
      worker.kill('SIGCONT');
      await sleep(1000);
    },
    async stop() {
      worker.kill('SIGTERM');
      await worker.exited;
    },
  };
}
