import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDataFolder, openEphemeralFolder } from '../../../src/runtime/embedded/data-folder.js';

let home: string;
const opened: string[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'onefold-home-'));
});

afterEach(async () => {
  for (const path of [home, ...opened.splice(0)]) await rm(path, { recursive: true, force: true });
});

async function open(wished: string, lines: string[] = []) {
  const folder = await openDataFolder(wished, (line) => lines.push(line));
  opened.push(folder.path);
  return folder;
}

test('data lie where wished, out of the reach of git', async () => {
  await chmod(home, 0o711);
  const { path } = await open(join(home, '.onefold'));
  expect(path).toBe(join(home, '.onefold'));
  expect(await readFile(join(path, '.gitignore'), 'utf8')).toBe('*\n');
});

test('data of root below a closed folder lie in one place elsewhere, and said so; anybody else has them there', async () => {
  await chmod(home, 0o700);
  const wished = join(home, 'shop', '.onefold');
  const lines: string[] = [];
  const first = await open(wished, lines);
  await first.close();
  const second = await open(wished);
  expect(second.path).toBe(first.path);
  if (process.getuid?.() === 0) {
    expect(first.path).toMatch(/^\/var\/lib\/onefold\/shop-[0-9a-f]{8}$/);
    expect(lines).toEqual([expect.stringContaining(first.path)]);
  } else {
    expect(first.path).toBe(wished);
    expect(lines).toEqual([]);
  }
});

test('a start right after an end waits for the folder', async () => {
  await chmod(home, 0o711);
  const first = await open(join(home, '.onefold'));
  setTimeout(() => void first.close(), 300);
  const lines: string[] = [];
  await open(join(home, '.onefold'), lines);
  expect(lines).toEqual([expect.stringContaining('waiting for the process')]);
});

test('a folder that stays in use is refused', async () => {
  await chmod(home, 0o711);
  const first = await open(join(home, '.onefold'));
  await expect(open(join(home, '.onefold'))).rejects.toMatchObject({ code: 'data_folder_busy' });
  await first.close();
}, 15_000);

test('an ephemeral folder is gone when it is closed', async () => {
  const folder = await openEphemeralFolder();
  expect((await stat(folder.path)).isDirectory()).toBe(true);
  await folder.close();
  await expect(stat(folder.path)).rejects.toMatchObject({ code: 'ENOENT' });
});
