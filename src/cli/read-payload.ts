import { readFile } from 'node:fs/promises';
import { OnefoldError } from '../errors.js';

/**
 * Reads a payload, byte for byte.
 *
 * @param file Path, or '-' for standard input.
 * @throws {OnefoldError} `config_invalid` when it cannot be read.
 */
export async function readPayload(file: string): Promise<Buffer> {
  try {
    if (file !== '-') return await readFile(file);
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } catch (cause) {
    throw new OnefoldError('config_invalid', `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** A payload that stands on a line of its own. */
export interface PayloadLine {
  /** From 1. */
  readonly line: number;
  readonly payload: Buffer;
}

const newline = 10;

/**
 * Reads payloads line by line, blank lines left out. The whole file is held in memory.
 *
 * @throws {OnefoldError} as {@link readPayload}.
 */
export async function readPayloadLines(file: string): Promise<readonly PayloadLine[]> {
  const bytes = await readPayload(file);
  const lines: PayloadLine[] = [];
  for (let start = 0, line = 1; start < bytes.length; line++) {
    const end = bytes.indexOf(newline, start);
    const payload = bytes.subarray(start, end < 0 ? bytes.length : end);
    if (payload.toString('latin1').trim() !== '') lines.push({ line, payload });
    start = end < 0 ? bytes.length : end + 1;
  }
  return lines;
}
