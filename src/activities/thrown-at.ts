import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sqlState } from '../effects/classify-failure.js';
import { OnefoldError } from '../errors.js';

/** What a log line may say of a thrown error: never its message, which may quote the payload. */
export interface ThrownAt {
  /** The error's name, with PostgreSQL's state where it has one: `error 23505`. */
  readonly error?: string;
  /** The first line of the user's own code in its stack, relative to the working folder: `src/effects/ship.ts:42`. */
  readonly at?: string;
}

/** The folder of this package's own modules, whose frames tell the user nothing. */
const ownFolder = fileURLToPath(new URL('..', import.meta.url));

/** A name as programs give it; one that was made from data is none. */
const plainName = /^[\w$.]{1,60}$/;

/** SQLSTATE: digits and upper-case letters. */
const plainState = /^[0-9A-Z]{5}$/;

/** `    at async commit (file:///app/onefold.ts:42:7)`, with or without a function and `file://`. */
const frame = /^\s+at (?:.+ \()?((?:file:\/\/)?\/[^()]+):(\d+):\d+\)?$/;

/** A stack this long was made by recursion, and its first lines say where. */
const framesLooked = 50;

/**
 * Says what was thrown and where, in terms that hold nothing of what the event said. A refusal of our own says it by its
 * code; what it was caused by is looked at instead.
 */
export function thrownAt(thrown: unknown): ThrownAt {
  const error = thrown instanceof OnefoldError ? thrown.cause : thrown;
  if (!(error instanceof Error)) return error === undefined ? {} : { error: typeof error };
  const name = plainName.test(String(error.name)) ? String(error.name) : 'Error';
  const state = sqlState(error);
  const at = place(error);
  return { error: state && plainState.test(state) ? `${name} ${state}` : name, ...(at === undefined ? {} : { at }) };
}

function place(error: Error): string | undefined {
  for (const line of framesOf(error).slice(0, framesLooked)) {
    const [, url, number] = frame.exec(line) ?? [];
    if (url === undefined) continue;
    const path = url.startsWith('file:') ? fileURLToPath(url) : url;
    if (path.includes('/node_modules/') || path.startsWith(ownFolder)) continue;
    // A message may spell a frame; only the path of a module that is there can be one.
    if (existsSync(path)) return `${relative(process.cwd(), path)}:${number}`;
  }
  return undefined;
}

/** The lines of a stack below the message, which stands at its head and may have many lines itself. */
function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== 'string') return [];
  const head = stack.indexOf(message);
  return stack.slice(head < 0 ? 0 : head + message.length).split('\n');
}
