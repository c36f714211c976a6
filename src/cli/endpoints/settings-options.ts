import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { OnefoldError } from '../../errors.js';
import type { EndpointChanges } from '../../publisher/endpoint-settings.js';
import { withUnit } from '../with-unit.js';

/** Settings of an endpoint as options give them. */
export interface SettingsFlags {
  readonly types?: readonly string[];
  readonly description?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly headersFile?: string;
  readonly rateLimit?: number;
  readonly concurrency?: number;
  readonly timeout?: string;
  readonly schedule?: readonly string[];
  readonly maximumElapsed?: string;
  readonly atMostOnce?: boolean;
}

/** Adds the options that creating and changing an endpoint have in common. */
export function withSettingsOptions(command: Command): Command {
  return command
    .option('--description <text>', 'for people, at most 500 characters')
    .option(
      '--header <name: value>',
      'extra header of every request, may be repeated; other users of this machine can see it while the command runs',
      collectHeader,
    )
    .addOption(
      new Option(
        '--headers-file <file>',
        'extra headers from a JSON object of names and values, or - for standard input',
      ).conflicts('header'),
    )
    .option('--rate-limit <number>', 'requests per second at most, 0.1 to 10000 (default: no limit)', readNumber)
    .option('--concurrency <number>', 'requests at once at most, 1 to 100 (default 10)', readNumber)
    .option('--timeout <duration>', "of one request, '1 second' to '60 seconds' (default 15 seconds)", withUnit)
    .option(
      '--schedule <durations>',
      "pauses between attempts, such as '5s,1m,1h'; none for a single attempt (default: ten, to some three days)",
      readSchedule,
    )
    .option(
      '--maximum-elapsed <duration>',
      "from publishing to the last attempt, at most '30 days' (default 5 days)",
      withUnit,
    )
    .option('--at-most-once', 'do not repeat an attempt that may have arrived');
}

/** Reads a list with commas between. */
export function readList(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** @throws {OnefoldError} `endpoint_invalid` for a file of headers that is no JSON. */
export async function settingsOf(flags: SettingsFlags): Promise<EndpointChanges> {
  const { types, description, rateLimit, concurrency, timeout, schedule, maximumElapsed, atMostOnce } = flags;
  const headers = flags.headersFile === undefined ? flags.header : await readHeaders(flags.headersFile);
  const settings = {
    types,
    description,
    headers,
    rateLimit,
    concurrency,
    timeout,
    schedule,
    maximumElapsed,
    atMostOnce,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/** Reads a file, or standard input where it is `-`, so that what is secret stands in no list of processes. */
export async function readGiven(file: string): Promise<string> {
  try {
    return (file === '-' ? await textOf(process.stdin) : await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new OnefoldError('config_invalid', `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

async function readHeaders(file: string): Promise<Readonly<Record<string, string>>> {
  const text = await readGiven(file);
  try {
    return JSON.parse(text) as Readonly<Record<string, string>>;
  } catch {
    // Its message would quote the text.
    throw new OnefoldError('endpoint_invalid', 'headers: the file is no JSON, such as {"authorization":"Bearer …"}');
  }
}

function collectHeader(given: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const colon = given.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError("expected 'name: value'");
  const name = given.slice(0, colon).trim();
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`'${name}' stands there twice`);
  return { ...before, [name]: given.slice(colon + 1).trim() };
}

function readNumber(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(value)) return value;
  throw new InvalidArgumentError('expected a number');
}

function readSchedule(text: string): readonly string[] {
  if (text.trim() === 'none') return [];
  const pauses = readList(text).map(withUnit);
  if (pauses.length > 0) return pauses;
  throw new InvalidArgumentError("expected pauses such as '5s,1m,1h', or none for a single attempt");
}
