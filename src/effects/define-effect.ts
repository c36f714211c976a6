import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { checkName, refuseUnknownOptions } from '../runtime/options.js';
import type { EventSchemas } from '../sources/source.js';
import type { CommitContext, Effect, JsonValue } from './effect.js';
import type { EventOf, ReceivedEvent } from './event.js';
import { attemptPolicy, type RetryOptions } from './retry-options.js';

/** What every effect says about itself. */
export interface LocalEffectOptions<
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
  /**
   * The business write. Runs in one transaction with claim and completion, so that a crash leaves nothing or
   * everything. Its result, any JSON value of at most 1 MiB, is stored and answered to duplicates.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function without a return is a Promise<void>
  readonly commit: (context: CommitContext<EventOf<Source, Events, Types>>) => Promise<JsonValue | undefined | void>;
  readonly retry?: RetryOptions;
  /** Longest duration of one attempt, at most 1 hour. Default '30 seconds'. */
  readonly timeout?: string | number;
  /**
   * Earlier names of this effect, whose completions still count. The oldest first: it is the name that the ledger goes on
   * using, so that workers of before and after a renaming claim the same row.
   */
  readonly formerly?: string | readonly string[];
}

const known = ['on', 'businessKey', 'commit', 'retry', 'timeout', 'formerly'];

/** A business key for effects that each event causes anew: the event identity itself. */
export function perEvent(event: ReceivedEvent): string {
  return `${event.source}/${event.id}`;
}

/**
 * Validates an effect's declaration.
 *
 * @throws {OnefoldError} `config_invalid` naming the effect and the option at fault.
 */
export function defineEffect<Source extends string, Events extends EventSchemas, Types extends keyof Events & string>(
  source: Source,
  events: Events,
  name: string,
  options: LocalEffectOptions<Source, Events, Types>,
): Effect {
  const place = `effect '${name}' of source '${source}'`;
  checkName(name, place);
  refuseUnknownOptions(options, known, place);
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
  for (const part of ['businessKey', 'commit'] as const) {
    if (typeof options[part] !== 'function') {
      throw new OnefoldError('config_invalid', `${place}.${part}: expected a function, got ${typeof options[part]}`);
    }
  }
  const timeoutMs = durationMs(options.timeout ?? '30 seconds', `${place}.timeout`, '1 hour');
  const formerly = [options.formerly ?? []].flat() as string[];
  for (const former of formerly) checkName(former, `${place}.formerly`);
  return Object.freeze({
    kind: 'local' as const,
    name,
    source,
    on: Object.freeze([...new Set(on)]),
    policy: attemptPolicy(options.retry, timeoutMs, place),
    formerly: Object.freeze(formerly),
    // The event handed in later was matched by type, so the narrower signature holds.
    businessKey: options.businessKey as Effect['businessKey'],
    commit: options.commit as Effect['commit'],
  });
}
