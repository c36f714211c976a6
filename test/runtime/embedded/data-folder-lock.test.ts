import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockDataFolder } from '../../../src/runtime/embedded/data-folder-lock.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-lock-'));
});

afterEach(() => rm(folder, { recursive: true }));

/** Twenty starts at the same moment. */
async function lockAtOnce() {
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockDataFolder(folder)));
  return {
    won: results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    lost: results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])),
  };
}

test('of starts at the same moment one gets the folder, and the others hear who has it', async () => {
  const { won, lost } = await lockAtOnce();
  expect(won).toHaveLength(1);
  expect(lost).toHaveLength(19);
  for (const error of lost) {
    expect(error).toMatchObject({
      code: 'data_folder_busy',
      message: expect.stringContaining(`process ${process.pid}`),
    });
  }
});

test('of starts at the same moment one takes over from a holder that died', async () => {
  await writeFile(join(folder, 'lock.7'), JSON.stringify({ pid: process.pid, start: 'an earlier process of this id' }));
  const { won } = await lockAtOnce();
  expect(won).toHaveLength(1);
  expect(await readdir(folder)).toEqual(['lock.8']);
});

test('a folder given back can be taken again', async () => {
  const release = await lockDataFolder(folder);
  await release();
  await (await lockDataFolder(folder))();
});

test('a lock file cut short by a full disk does not lock for ever', async () => {
  await writeFile(join(folder, 'lock.1'), '{"pid":');
  await lockDataFolder(folder);
});
