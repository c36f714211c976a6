import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { defaultEndpointConcurrency } from './endpoint.js';
import { checkSecret } from './endpoint-secret.js';
import { checkHeaders } from './header-rules.js';
import { checkPattern } from './type-pattern.js';

/** What an endpoint is created with. */
export interface EndpointSettings {
  /**
   * Where messages go, by POST: https, a public address, no credentials, no fragment, at most 2,048 characters as it is
   * sent. Of an endpoint without a tenant, what ONEFOLD_EGRESS_ALLOW lists is taken although private, and over http too. It is
   * judged now and at every attempt.
   */
  readonly url: string;
  /** Types it is sent, 1 to 100: exact (`order.paid`), all below a word (`order.*`), or `*`, which leaves out `endpoint.*`. */
  readonly types: readonly string[];
  /** For people, at most 500 characters. */
  readonly description?: string;
  /**
   * Extra headers of every request, such as `authorization`; at most 20 and 4 KiB. Kept sealed, and never shown again. Not
   * those that govern the connection or that the sender writes itself.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Requests per second at most, 0.1 to 10,000. Default: no limit. */
  readonly rateLimit?: number;
  /** Requests at once at most, 1 to 100. Default 10. */
  readonly concurrency?: number;
  /** Of one exchange, '1 second' to '60 seconds', or ms. Default '15 seconds'. */
  readonly timeout?: string | number;
  /**
   * Pauses between attempts, before jitter, at most 50; none for a single attempt. Default: what the type says, else 5 s,
   * 30 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h.
   */
  readonly schedule?: readonly (string | number)[];
  /** From publishing to the last attempt, at most '30 days'. Default: what the type says, else '5 days'. */
  readonly maximumElapsed?: string | number;
  /** An attempt that may have arrived is not repeated; the delivery then ends with an unknown outcome. Default false. */
  readonly atMostOnce?: boolean;
  /** Its first signing secret, where the receiver has one already: `whsec_` and base64. Default: a new one. */
  readonly secret?: string;
}

/** What is changed of an endpoint; null takes a setting back to its default. `types`, `headers` and `schedule` are replaced whole. */
export type EndpointChanges = {
  readonly [Name in keyof Omit<EndpointSettings, 'secret'>]?:
    | EndpointSettings[Name]
    | (Name extends 'url' | 'types' ? never : null);
};

/** Settings as they are stored. Absent: not spoken of; null: the default of the application or the type. */
export interface CheckedSettings {
  readonly url?: string;
  readonly types?: readonly string[];
  readonly description?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly rateLimit?: number | null;
  readonly concurrency?: number;
  readonly timeoutMs?: number | null;
  readonly pausesMs?: readonly number[] | null;
  readonly elapsedMs?: number | null;
  readonly atMostOnce?: boolean;
}

/** Settings of a new endpoint, nothing left open. */
export type NewSettings = Required<CheckedSettings>;

export const urlLimit = 2_048;
export const typesLimit = 100;
export const descriptionLimit = 500;
export const leastRateLimit = 0.1;
export const mostRateLimit = 10_000;
export const mostConcurrency = 100;
export const pausesLimit = 50;
const leastTimeoutMs = 1_000;

const changeable = [
  'url',
  'types',
  'description',
  'headers',
  'rateLimit',
  'concurrency',
  'timeout',
  'schedule',
  'maximumElapsed',
  'atMostOnce',
] as const satisfies readonly (keyof EndpointChanges)[];

/**
 * Judges the settings of a new endpoint, all but where its URL leads to.
 *
 * @throws {OnefoldError} `endpoint_invalid` naming the setting.
 */
export function checkNewSettings(settings: EndpointSettings): {
  readonly settings: NewSettings;
  readonly secret?: string;
} {
  if (typeof settings !== 'object' || settings === null) {
    throw new OnefoldError('endpoint_invalid', 'expected the settings of an endpoint, such as { url, types }');
  }
  const { secret, ...rest } = settings;
  const { url, types, ...given } = checkNamed(rest);
  if (url === undefined) throw invalid('url', 'it is missing');
  if (types === undefined) throw invalid('types', 'they are missing');
  return {
    settings: {
      description: '',
      headers: {},
      rateLimit: null,
      concurrency: defaultEndpointConcurrency,
      timeoutMs: null,
      pausesMs: null,
      elapsedMs: null,
      atMostOnce: false,
      ...given,
      url,
      types,
    },
    ...(secret === undefined ? {} : { secret: checkSecret(secret) }),
  };
}

/**
 * Judges changes of an endpoint, all but where a new URL leads to.
 *
 * @throws {OnefoldError} `endpoint_invalid` naming the setting, and where nothing is to be changed.
 */
export function checkChanges(changes: EndpointChanges): CheckedSettings {
  const checked = checkNamed(changes);
  if (Object.keys(checked).length > 0) return checked;
  throw new OnefoldError('endpoint_invalid', `nothing to change: name at least one of ${changeable.join(', ')}`);
}

function checkNamed(given: EndpointChanges): CheckedSettings {
  return asEndpointInvalid(() => {
    refuseUnknownOptions(given, changeable, 'endpoint');
    const read = <Stored>(name: keyof EndpointChanges, check: (value: unknown) => Stored, byDefault?: Stored) => {
      const value: unknown = given[name];
      return value === null && byDefault !== undefined ? byDefault : value === undefined ? undefined : check(value);
    };
    const all: { readonly [Name in keyof CheckedSettings]: CheckedSettings[Name] | undefined } = {
      url: read('url', checkUrlForm),
      types: read('types', checkTypes),
      description: read('description', checkDescription, ''),
      headers: read('headers', checkHeaders, {}),
      rateLimit: read('rateLimit', checkRateLimit, null),
      concurrency: read('concurrency', checkConcurrency, defaultEndpointConcurrency),
      timeoutMs: read('timeout', checkTimeout, null),
      pausesMs: read('schedule', checkSchedule, null),
      elapsedMs: read('maximumElapsed', (value) => durationMs(value, 'maximumElapsed', '30 days'), null),
      atMostOnce: read('atMostOnce', checkAtMostOnce, false),
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as CheckedSettings;
  });
}

function checkUrlForm(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '') throw invalid('url', 'expected text');
  if (value.length > urlLimit) throw invalid('url', `at most ${urlLimit} characters, got ${value.length}`);
  return value.trim();
}

function checkTypes(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw invalid('types', "expected a list of one or more, such as ['order.*']");
  }
  const types = [...new Set(value.map(checkPattern))];
  if (types.length > typesLimit) throw invalid('types', `at most ${typesLimit}, got ${types.length}`);
  return types;
}

function checkDescription(value: unknown): string {
  if (typeof value !== 'string') throw invalid('description', 'expected text');
  if (value.length > descriptionLimit) {
    throw invalid('description', `at most ${descriptionLimit} characters, got ${value.length}`);
  }
  return value;
}

function checkRateLimit(value: unknown): number | null {
  if (typeof value === 'number' && value >= leastRateLimit && value <= mostRateLimit) return value;
  throw invalid('rateLimit', `expected ${leastRateLimit} to ${mostRateLimit} requests per second, got ${told(value)}`);
}

function checkConcurrency(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= mostConcurrency) return value as number;
  throw invalid('concurrency', `expected a whole number from 1 to ${mostConcurrency}, got ${told(value)}`);
}

function checkTimeout(value: unknown): number | null {
  const timeoutMs = durationMs(value, 'timeout', '60 seconds');
  if (timeoutMs >= leastTimeoutMs) return timeoutMs;
  throw invalid('timeout', `at least 1 second, got ${told(value)}`);
}

function checkSchedule(value: unknown): readonly number[] | null {
  if (!Array.isArray(value)) throw invalid('schedule', "expected a list of pauses, such as ['5 seconds', '1 hour']");
  if (value.length > pausesLimit) throw invalid('schedule', `at most ${pausesLimit} pauses, got ${value.length}`);
  return value.map((pause, index) => durationMs(pause, `schedule: pause ${index + 1}`, '30 days'));
}

function checkAtMostOnce(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalid('atMostOnce', `expected true or false, got ${told(value)}`);
}

/** What shared checks say of a configuration is said of an endpoint here, which is data and not configuration. */
export function asEndpointInvalid<Value>(check: () => Value): Value {
  try {
    return check();
  } catch (error) {
    if (error instanceof OnefoldError && error.code === 'config_invalid') {
      throw new OnefoldError('endpoint_invalid', error.message, { cause: error });
    }
    throw error;
  }
}

function invalid(setting: string, what: string): OnefoldError {
  return new OnefoldError('endpoint_invalid', `${setting}: ${what}`);
}

function told(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : typeof value;
}
