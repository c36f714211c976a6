import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/setup/slowest-first.js';

const alias = {
  'onefold/testing': fileURLToPath(new URL('./src/testing/index.ts', import.meta.url)),
  onefold: fileURLToPath(new URL('./src/index.ts', import.meta.url)),
};

// `*.live.test.ts` need servers, which the run itself starts; everything else is plain.
export default defineConfig({
  test: {
    sequence: { sequencer: SlowestFirst },
    // Of one file: each may start several processes.
    maxConcurrency: 3,
    projects: [
      {
        resolve: { alias },
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.live.test.ts'],
          pool: 'forks',
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve: { alias },
        test: {
          name: 'live',
          include: ['test/**/*.live.test.ts'],
          globalSetup: ['test/setup/servers.ts'],
          pool: 'forks',
          // Of three, one is waiting for a timeout most of the time: two cores are busy, and not overrun. After the quick ones.
          maxWorkers: 3,
          // On a shared machine a server can lose a port or a race for the processor. What is broken fails twice.
          retry: process.env.CI ? 1 : 0,
          sequence: { groupOrder: 1 },
          // Against hanging only; what must be quick is asserted where it is claimed.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
