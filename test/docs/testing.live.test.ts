import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs', 'testing.md'), 'utf8');
// Below the root, where `onefold` and `onefold/testing` are found.
const folder = mkdtempSync(join(root, 'test', 'docs', '.testing-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a test file as a user would, on servers of its own; it has to end by itself, with nothing left open. */
function runTestFile(file: string): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    const args = ['--import', 'tsx', '--test', '--test-reporter=tap', file];
    // This run's own marks would make the child's test runner report to this one.
    const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, ...env } = process.env;
    execFile(process.execPath, args, { cwd: root, env, timeout: 100_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? 1 : 0, output: stdout + stderr });
    });
  });
}

test('the example of docs/testing.md passes, on servers that it starts and ends', async () => {
  const file = join(folder, 'charge.test.ts');
  writeFileSync(file, /```ts\n(\/\/ charge\.test\.ts\n[\s\S]*?)```/.exec(page)?.[1] ?? '');
  const { code, output } = await runTestFile(file);
  expect(output).toMatch(/# pass 2\n# fail 0/);
  expect(code).toBe(0);
});

test("the shop's own test passes", async () => {
  const { code, output } = await runTestFile(join(root, 'examples', 'shop', 'onefold.test.ts'));
  expect(output).toMatch(/# pass 3\n# fail 0/);
  expect(code).toBe(0);
});

test('every function that the page names is exported', async () => {
  const exported = Object.keys(await import('../../src/testing/index.js'));
  for (const name of ['testEffect', 'startTestKit', 'startRecipient', 'startTestDatabase']) {
    expect(exported).toContain(name);
    expect(page).toContain(name);
  }
});
