import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { isInteger, isSafeNumber, parse } from 'lossless-json';
import { OnefoldError } from '../errors.js';
import type { PublicationFields } from '../publisher/publication.js';

/** What stands in for the fields that a message does not have. */
export interface MessageDefaults {
  readonly publication?: string;
  readonly type?: string;
  readonly tenant?: string;
}

/** A line that is no message at all. */
export interface UnreadableLine {
  readonly line: number;
  readonly error: OnefoldError;
}

/**
 * Reads one message: the whole of a JSON file or of standard input. With a publication given, what is read is its data;
 * else it is the message itself.
 *
 * @param file Path, or '-' for standard input.
 * @throws {OnefoldError} `config_invalid` when it cannot be read, `publication_invalid` when it is not JSON.
 */
export async function readMessage(file: string, defaults: MessageDefaults): Promise<PublicationFields> {
  let text: string;
  try {
    text = file === '-' ? await readAll(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
  const value = parseExactly(text, file);
  return defaults.publication === undefined
    ? withDefaults(value, defaults, file)
    : ({ ...defaults, data: value } as PublicationFields);
}

/**
 * Reads messages line by line, no faster than they are taken, so that a file of any length fits. Blank lines are passed over.
 *
 * @param file Path, or '-' for standard input.
 * @param lineOf Is told the line of each message, for whoever refuses one later.
 * @param onUnreadable Told of lines that are no JSON object; the others go on.
 * @throws {OnefoldError} `config_invalid` when it cannot be read.
 */
export async function* readLines(
  file: string,
  defaults: MessageDefaults,
  lineOf: WeakMap<object, number>,
  onUnreadable: (unreadable: UnreadableLine) => void,
): AsyncGenerator<PublicationFields> {
  let line = 0;
  for await (const text of textLines(file)) {
    line += 1;
    if (text.trim() === '') continue;
    let message: PublicationFields;
    try {
      message = withDefaults(parseExactly(text, `line ${line}`), defaults, `line ${line}`);
    } catch (error) {
      onUnreadable({ line, error: error as OnefoldError });
      continue;
    }
    lineOf.set(message, line);
    yield message;
  }
}

async function* textLines(file: string): AsyncGenerator<string> {
  const input: Readable = file === '-' ? process.stdin : createReadStream(file);
  let failure: Error | undefined;
  // Whether the lines end with the error or without a word depends on the version of Node.
  input.once('error', (error: Error) => {
    failure = error;
  });
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    failure ??= error as Error;
  }
  if (failure) throw unreadable(file, failure);
}

/** Every digit is kept: a whole number beyond 2^53 is a `bigint`. */
function parseExactly(text: string, place: string): unknown {
  try {
    return parse(text, undefined, (digits) =>
      isInteger(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits),
    );
  } catch (cause) {
    throw new OnefoldError('publication_invalid', `${place} is not JSON, or names a key twice`, { cause });
  }
}

function withDefaults(value: unknown, defaults: MessageDefaults, place: string): PublicationFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new OnefoldError(
      'publication_invalid',
      `${place}: expected a message such as {"publication":"order:42:v1","type":"order.confirmed","data":{…}}`,
    );
  }
  return { ...defaults, ...value } as PublicationFields;
}

async function readAll(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function unreadable(file: string, cause: unknown): OnefoldError {
  return new OnefoldError('config_invalid', `${file} cannot be read: ${(cause as Error).message}`, { cause });
}
