import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const alias = { onefold: fileURLToPath(new URL('./src/index.ts', import.meta.url)) };

// `*.live.test.ts` need servers, which the run itself starts; everything else is plain.
export default defineConfig({
  test: {
    projects: [
      {
        resolve: { alias },
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.live.test.ts'],
          pool: 'forks',
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
          // Each file drives servers of its own or a worker; more at once only makes them slow. After the quick ones.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
