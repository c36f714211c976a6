import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unpackNative } from '../../../src/runtime/embedded/unpack-native.js';

let folder: string;
let copy: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-native-'));
  copy = join(folder, 'copy');
  const native = join(folder, 'package', 'native');
  await mkdir(join(native, 'bin'), { recursive: true });
  await mkdir(join(native, 'lib'));
  await writeFile(join(native, 'bin', 'postgres'), 'the server', { mode: 0o600 });
  await writeFile(join(native, 'lib', 'libpq.so.5.18'), 'the library', { mode: 0o600 });
  const links = [
    { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' },
    { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' },
  ];
  await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify(links));
  // One that the install script has made, one that it has not.
  await symlink('libpq.so.5.18', join(native, 'lib', 'libpq.so'));
});

afterEach(() => rm(folder, { recursive: true }));

test('links that the installation left out are made, relative to their folder', async () => {
  await unpackNative(join(folder, 'package'), copy);
  for (const link of ['libpq.so', 'libpq.so.5']) {
    expect(await readlink(join(copy, 'lib', link))).toBe('libpq.so.5.18');
    expect(await readFile(join(copy, 'lib', link), 'utf8')).toBe('the library');
  }
});

test('other users can run and read what was installed for one', async () => {
  await unpackNative(join(folder, 'package'), copy);
  expect((await stat(join(copy, 'bin', 'postgres'))).mode & 0o777).toBe(0o755);
  expect((await stat(join(copy, 'lib', 'libpq.so.5.18'))).mode & 0o777).toBe(0o644);
});
