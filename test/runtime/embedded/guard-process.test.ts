import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { guardProcess } from '../../../src/runtime/embedded/guard-process.js';
import { processStart } from '../../../src/runtime/embedded/process-start.js';

const guardModule = fileURLToPath(new URL('../../../src/runtime/embedded/guard-process.ts', import.meta.url));

/** Starts a process that guards a sleeping one, as `onefold dev` does its servers. */
async function startGuardingParent() {
  const script = `
    import { spawn } from 'node:child_process';
    import { guardProcess } from ${JSON.stringify(guardModule)};
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    guardProcess(child.pid, 'SIGTERM');
    process.stdout.write(String(child.pid));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = (await once(parent.stdout, 'data')) as [Buffer];
  return { parent, guarded: Number(output.toString()) };
}

test('a guarded process ends when its parent is killed with SIGKILL', async () => {
  const { parent, guarded } = await startGuardingParent();
  expect(await processStart(guarded)).toBeDefined();
  parent.kill('SIGKILL');
  await vi.waitFor(async () => expect(await processStart(guarded)).toBeUndefined(), { timeout: 5_000 });
});

test('a released guard ends nothing', async () => {
  const child = spawn('sleep', ['60']);
  try {
    const guard = guardProcess(child.pid as number, 'SIGTERM');
    guard.release();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await processStart(child.pid as number)).toBeDefined();
  } finally {
    child.kill('SIGKILL');
  }
});
