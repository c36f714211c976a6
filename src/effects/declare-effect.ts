import { OnefoldError } from '../errors.js';
import { checkName, refuseUnknownOptions } from '../runtime/options.js';
import { oneOf } from '../sources/one-of.js';
import type { EventSchemas } from '../sources/source.js';
import type { Effect, EffectMode, Supersede } from './effect.js';
import type { EventOf, ReceivedEvent } from './event.js';
import { attemptPolicy, type RetryOptions } from './retry-options.js';

/** What every effect says about itself. */
export interface EffectOptions<
  Source extends string,
  Events extends EventSchemas,
  Types extends keyof Events & string,
> {
  /** The type or types of the source that it acts on. */
  readonly on: Types | readonly Types[];
  /**
   * The business identity: what may happen once, whatever event asks for it. Pure; `perEvent` where each event is its
   * own happening.
   */
  readonly businessKey: (event: EventOf<Source, Events, Types>) => string;
  readonly retry?: RetryOptions;
  /**
   * Earlier names of this effect, whose completions still count. The oldest first: it is the name that the ledger goes on
   * using, so that workers of before and after a renaming claim the same row.
   */
  readonly formerly?: string | readonly string[];
  /**
   * For events that carry a state: one older than the newest of its lineage does nothing and ends as `stale`. Of equal
   * versions neither is older, so both are carried, and the second is said to be equal in log, metric and outcome.
   */
  readonly supersede?: Supersede<EventOf<Source, Events, Types>>;
  /**
   * `observe` only looks: its events are identified and planned, what would run is logged as `effect.observed`, and nothing
   * is claimed or run. What was observed stays so when it becomes `live`; only a replay runs it then. Default 'live'.
   */
  readonly mode?: EffectMode;
}

/** Names of the options that every effect takes. */
export const effectOptionNames = ['on', 'businessKey', 'retry', 'timeout', 'formerly', 'supersede', 'mode'] as const;

/** A business key for effects that each event causes anew: the event identity itself. */
export function perEvent(event: ReceivedEvent): string {
  return `${event.source}/${event.id}`;
}

/**
 * Validates what every effect declares.
 *
 * @param functions Names of the options that must be functions, beside `businessKey`.
 * @throws {OnefoldError} `config_invalid` naming the effect and the option at fault.
 */
export function declareEffect(
  source: string,
  events: EventSchemas,
  name: string,
  options: EffectOptions<string, EventSchemas, string>,
  timeoutMs: number,
  functions: readonly string[],
): Omit<Effect, 'kind'> & Pick<Effect, 'name'> {
  const place = effectPlace(source, name);
  const on = [options.on].flat() as string[];
  if (on.length === 0) throw new OnefoldError('config_invalid', `${place}.on: name at least one event type`);
  for (const type of on) {
    if (!Object.hasOwn(events, type)) {
      throw new OnefoldError(
        'config_invalid',
        `${place}.on: source '${source}' has no event type ${JSON.stringify(type)}; it has ${Object.keys(events).join(', ')}`,
      );
    }
  }
  for (const part of ['businessKey', ...functions]) checkFunction((options as never)[part], `${place}.${part}`);
  const { supersede } = options;
  if (supersede !== undefined) {
    refuseUnknownOptions(supersede, ['by', 'version'], `${place}.supersede`);
    checkFunction(supersede.by, `${place}.supersede.by`);
    checkFunction(supersede.version, `${place}.supersede.version`);
  }
  const formerly = [options.formerly ?? []].flat() as string[];
  for (const former of formerly) checkName(former, `${place}.formerly`);
  return {
    name,
    source,
    on: Object.freeze([...new Set(on)]),
    policy: attemptPolicy(options.retry, timeoutMs, place),
    formerly: Object.freeze(formerly),
    mode: oneOf(options.mode ?? 'live', ['live', 'observe'], `${place}.mode`),
    // The event handed in later was matched by type, so the narrower signatures hold.
    businessKey: options.businessKey as Effect['businessKey'],
    ...(supersede ? { supersede: supersede as Supersede } : {}),
  };
}

/** Where the effect is declared, for messages. */
export function effectPlace(source: string, name: string): string {
  return `effect '${name}' of source '${source}'`;
}

/** @throws {OnefoldError} `config_invalid` for what is no function. */
export function checkFunction(value: unknown, place: string): void {
  if (typeof value !== 'function') {
    throw new OnefoldError('config_invalid', `${place}: expected a function, got ${typeof value}`);
  }
}
