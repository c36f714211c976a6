import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import type { Onefold } from '../../src/index.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
// Below the root, where `onefold` and `zod` are found.
const folder = mkdtempSync(join(root, 'test', 'docs', '.readme-'));
afterAll(() => rmSync(folder, { recursive: true }));

test("the README's example is a working configuration", async () => {
  const code = /```ts\n(\/\/ onefold\.ts\n[\s\S]*?)```/.exec(readme)?.[1];
  expect(code).toBeDefined();
  const file = join(folder, 'onefold.ts');
  writeFileSync(file, code ?? '');
  const { onefold } = (await import(pathToFileURL(file).href)) as { onefold: Onefold };
  expect(onefold.catalogue.effects.map(({ name, source, on }) => ({ name, source, on }))).toEqual([
    { name: 'ship-order', source: 'shop', on: ['order.paid'] },
  ]);
  // It loads a compiler, which takes seconds on a busy machine.
}, 60_000);

test('every file and page that the README names is there', () => {
  const named = [...readme.matchAll(/\]\(((?:docs|docker|examples)[^)]*)\)|\s(examples\/[\w./-]+\.json)/g)];
  expect(named.length).toBeGreaterThan(8);
  for (const [, link, path] of named)
    expect(() => readFileSync(join(root, link ?? path ?? '')), link ?? path).not.toThrow(/ENOENT/);
});

test('every command that the README shows is one of the executable', () => {
  const commands = new Set([...readme.matchAll(/(?:npx )?onefold (\w+)/g)].map(([, command]) => command));
  const folder = join(root, 'src', 'cli');
  const sources = readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(folder, file), 'utf8'));
  for (const command of commands) {
    if (command === 'is') continue;
    expect(
      sources.some(
        (text) => text.includes(`new Command('${command}')`) || text.includes(`processCommand('${command}'`),
      ),
      command,
    ).toBe(true);
  }
});
