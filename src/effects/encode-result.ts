import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json';
import { OnefoldError } from '../errors.js';

/** Results are answers to duplicates, not storage. */
export const resultLimitBytes = 1024 * 1024;

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** As deep as bodies may be. */
const depthLimit = 256;

/**
 * Writes an effect's result as JSON text without loss: `bigint` becomes an exact number, NUL and lone surrogates become
 * escapes, `undefined` properties are absent, and no result at all is `null`. Everything that JSON cannot hold is refused
 * rather than bent.
 *
 * @throws {OnefoldError} `result_not_json` naming the place; `result_too_large` naming the size.
 */
export function encodeResult(value: unknown): string {
  if (value === undefined) return 'null';
  assertJson(value, 'result', 0);
  const json = stringify(value) ?? 'null';
  const bytes = Buffer.byteLength(json);
  if (bytes > resultLimitBytes) {
    throw new OnefoldError(
      'result_too_large',
      `the result has ${bytes} bytes of JSON, and at most ${resultLimitBytes} are stored`,
    );
  }
  return json;
}

/** Reads a stored result back: a whole number beyond what a double holds exactly is a `bigint`, as it was given. */
export function parseResult(json: string): unknown {
  return parse(json, undefined, (text) => (isInteger(text) && !isSafeNumber(text) ? BigInt(text) : Number(text)));
}

function assertJson(value: unknown, place: string, depth: number): void {
  const refuse = (what: string): never => {
    throw new OnefoldError('result_not_json', `${place} is ${what}, which JSON cannot hold without loss`);
  };
  if (depth > depthLimit) refuse(`nested deeper than ${depthLimit} levels (or within itself)`);
  if (value === null) return;
  switch (typeof value) {
    case 'boolean':
    case 'string':
    case 'bigint':
      return;
    case 'number':
      if (!Number.isFinite(value)) refuse(String(value));
      return;
    case 'object':
      break;
    default:
      refuse(value === undefined ? 'undefined' : `a ${typeof value}`);
  }
  if (Array.isArray(value)) {
    // Holes read as undefined, which is refused like any other element that JSON would turn into null.
    for (let index = 0; index < value.length; index++) assertJson(value[index], `${place}[${index}]`, depth + 1);
    return;
  }
  const { isLosslessNumber } = value as { isLosslessNumber?: unknown };
  if (isLosslessNumber === true) {
    // Written as it reads, so whatever only says that it is a number would break the text around it.
    if (!jsonNumber.test(String(value))) refuse('an exact number that is none');
    return;
  }
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    refuse(`a ${(value as object).constructor?.name ?? 'class'}`);
  for (const [key, member] of Object.entries(value as object)) {
    if (member !== undefined) assertJson(member, `${place}.${key.slice(0, 64)}`, depth + 1);
  }
}
