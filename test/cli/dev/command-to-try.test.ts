import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { commandToTry } from '../../../src/cli/dev/command-to-try.js';

const shop = { name: 'shop', url: 'http://127.0.0.1:8080/webhooks/shop' };
let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'onefold-try-')));
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

test('without example events it reads what is typed', async () => {
  expect(await commandToTry(join(folder, 'onefold.ts'), shop)).toBe('npx onefold send - --source shop --times 2');
});

test('the plainest of the example events is sent', async () => {
  await mkdir(join(folder, 'events'));
  for (const name of ['order-out-of-stock.json', 'order-paid.json', 'a.md']) {
    await writeFile(join(folder, 'events', name), '');
  }
  expect(await commandToTry(join(folder, 'onefold.ts'), shop)).toContain('send events/order-paid.json --source');
});

test('what differs from the defaults of `send` is told', async () => {
  const command = await commandToTry(join(folder, 'shop', 'onefold.ts'), { ...shop, url: 'http://127.0.0.1:8081/s' });
  expect(command).toMatch(/ --config shop\/onefold\.ts --url http:\/\/127\.0\.0\.1:8081\/s$/);
});

test('without a source, the commands are shown', async () => {
  expect(await commandToTry(join(folder, 'onefold.ts'), undefined)).toBe('npx onefold --help');
});
