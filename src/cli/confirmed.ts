import { createInterface } from 'node:readline/promises';
import { type ErrorCode, OnefoldError } from '../errors.js';

/**
 * Asks the person at the terminal; anything but yes is no.
 *
 * @param code Of the refusal where standard input is no terminal, so that nobody can be asked.
 * @param otherwise What to do then.
 * @throws {OnefoldError} with that code.
 */
export async function confirmed(question: string, code: ErrorCode, otherwise: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new OnefoldError(code, `nobody is there to ask: ${otherwise}`);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
