import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordProcess, stopRecordedProcess } from '../../../src/runtime/embedded/process-record.js';

let folder: string;
let child: ChildProcess;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onefold-record-'));
  child = spawn('sleep', ['60']);
});

afterEach(async () => {
  child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

test('a recorded process that still runs is ended, and the record goes', async () => {
  const file = join(folder, 'record');
  await recordProcess(file, child.pid as number);
  const ended = once(child, 'exit');
  expect(await stopRecordedProcess(file, 'SIGTERM')).toEqual({ pid: child.pid, wasRunning: true });
  expect((await ended)[1]).toBe('SIGTERM');
  expect(await stopRecordedProcess(file, 'SIGTERM')).toBeUndefined();
});

test('another process with the recorded id is left alone', async () => {
  const file = join(folder, 'record');
  await recordProcess(file, child.pid as number);
  const record = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...record, start: 'another boot:1' }));
  expect(await stopRecordedProcess(file, 'SIGTERM')).toEqual({ pid: child.pid, wasRunning: false });
  expect(child.kill(0)).toBe(true);
});

test('a record that cannot be read ends nothing', async () => {
  const file = join(folder, 'record');
  await writeFile(file, '{"pid":');
  expect(await stopRecordedProcess(file, 'SIGTERM')).toBeUndefined();
});
