import { durationMs } from '../runtime/duration.js';
import { checkName, refuseUnknownOptions } from '../runtime/options.js';
import type { EventSchemas } from '../sources/source.js';
import { declareEffect, type EffectOptions, effectOptionNames, effectPlace } from './declare-effect.js';
import type { CommitContext, JsonValue, LocalEffect } from './effect.js';
import type { EventOf } from './event.js';

/** What a local write says about itself. */
export interface LocalEffectOptions<
  Source extends string,
  Events extends EventSchemas,
  Types extends keyof Events & string,
> extends EffectOptions<Source, Events, Types> {
  /**
   * The business write. Runs in one transaction with claim and completion, so that a crash leaves nothing or
   * everything. Its result, any JSON value of at most 1 MiB, is stored and answered to duplicates.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function without a return is a Promise<void>
  readonly commit: (context: CommitContext<EventOf<Source, Events, Types>>) => Promise<JsonValue | undefined | void>;
  /** Longest duration of one attempt, at most 1 hour. Default '30 seconds'. */
  readonly timeout?: string | number;
}

const known = [...effectOptionNames, 'commit'];

/**
 * Validates the declaration of a local write.
 *
 * @throws {OnefoldError} `config_invalid` naming the effect and the option at fault.
 */
export function defineEffect<Source extends string, Events extends EventSchemas, Types extends keyof Events & string>(
  source: Source,
  events: Events,
  name: string,
  options: LocalEffectOptions<Source, Events, Types>,
): LocalEffect {
  const place = effectPlace(source, name);
  checkName(name, place);
  refuseUnknownOptions(options, known, place);
  const timeoutMs = durationMs(options.timeout ?? '30 seconds', `${place}.timeout`, '1 hour');
  return Object.freeze({
    ...declareEffect(source, events, name, options as never, timeoutMs, ['commit']),
    kind: 'local' as const,
    commit: options.commit as LocalEffect['commit'],
  });
}
