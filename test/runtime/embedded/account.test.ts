import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isReachable } from '../../../src/runtime/embedded/account.js';

let folder: string;
const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const somebodyElse = { uid: 64_998, gid: 64_998 };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-account-'));
  await mkdir(join(folder, 'project', 'data'), { recursive: true });
});

afterEach(() => rm(folder, { recursive: true }));

test('a folder below a closed one is out of reach of others, and in reach of its owner', async () => {
  await chmod(folder, 0o700);
  expect(await isReachable(join(folder, 'project', 'data'), somebodyElse)).toBe(false);
  expect(await isReachable(join(folder, 'project', 'data'), me)).toBe(true);
});

test('passing through is enough; listing is not needed', async () => {
  await chmod(folder, 0o711);
  expect(await isReachable(join(folder, 'project', 'data'), somebodyElse)).toBe(true);
});

test('a folder that does not exist yet counts by its nearest parent', async () => {
  await chmod(folder, 0o711);
  await chmod(join(folder, 'project'), 0o700);
  expect(await isReachable(join(folder, 'to', 'come'), somebodyElse)).toBe(true);
  expect(await isReachable(join(folder, 'project', 'to', 'come'), somebodyElse)).toBe(false);
});
