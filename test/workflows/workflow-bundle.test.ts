import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { expect, test } from 'vitest';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

test('the workflow bundle holds workflows and identities, and nothing of activities, ledger, effects or Node', async () => {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)),
    logger: quiet,
  });
  const modules = [...code.matchAll(/^\/\*\*\*\/ "(\.\/src\/[^"]+)"/gm)].map(([, path]) => path as string);
  expect(modules).toContain('./src/workflows/process-event.ts');
  const folders = new Set(modules.map((path) => path.split('/')[2]));
  expect([...folders].sort()).toEqual(['errors.ts', 'identity', 'workflows']);
  expect(code).not.toMatch(/require\("node:/);
}, 30_000);
