import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { OnefoldError } from '../../errors.js';
import { processStart } from './process-start.js';

/** How long a leftover process gets for an orderly end, and then for dying of SIGKILL, in ms. */
const patienceMs = 30_000;
const killPatienceMs = 5_000;
const pollMs = 20;

interface ProcessRecord {
  readonly pid: number;
  readonly start: string;
}

/** Writes down which process serves a data folder, so that a later start can tell whether it still runs. */
export async function recordProcess(file: string, pid: number): Promise<void> {
  const start = await processStart(pid);
  if (start === undefined) return;
  const record: ProcessRecord = { pid, start };
  await writeFile(`${file}.new`, JSON.stringify(record));
  await rename(`${file}.new`, file);
}

/**
 * Ends the recorded process if it still runs: what a parent killed with `kill -9` may have left behind. A process that
 * merely has the same id is never touched.
 *
 * @returns The process id that was ended, or was recorded and has ended before; undefined without a record.
 * @throws {OnefoldError} `embedded_unavailable` when it survives even SIGKILL.
 */
export async function stopRecordedProcess(
  file: string,
  signal: 'SIGINT' | 'SIGTERM',
): Promise<{ readonly pid: number; readonly wasRunning: boolean } | undefined> {
  const record = await readRecord(file);
  if (record === undefined) return undefined;
  const wasRunning = await isRunning(record);
  if (wasRunning) {
    send(record.pid, signal);
    if (!(await ended(record, patienceMs))) {
      send(record.pid, 'SIGKILL');
      if (!(await ended(record, killPatienceMs))) {
        throw new OnefoldError(
          'embedded_unavailable',
          `process ${record.pid}, left behind by an earlier start, does not end. End it, then start again.`,
        );
      }
    }
  }
  await rm(file, { force: true });
  return { pid: record.pid, wasRunning };
}

async function readRecord(file: string): Promise<ProcessRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(file, 'utf8')) as Partial<ProcessRecord>;
    if (typeof record.pid !== 'number' || typeof record.start !== 'string') return undefined;
    return { pid: record.pid, start: record.start };
  } catch {
    return undefined;
  }
}

async function isRunning(record: ProcessRecord): Promise<boolean> {
  return (await processStart(record.pid)) === record.start;
}

async function ended(record: ProcessRecord, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (Date.now() < deadline) {
    if (!(await isRunning(record))) return true;
    await pause(pollMs);
  }
  return false;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended between the look and the signal, or belongs to another user; the wait that follows tells which.
  }
}
