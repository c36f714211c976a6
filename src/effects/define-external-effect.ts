import { OnefoldError } from '../errors.js';
import { durationMs } from '../runtime/duration.js';
import { checkName, refuseUnknownOptions } from '../runtime/options.js';
import type { EventSchemas } from '../sources/source.js';
import { checkFunction, declareEffect, type EffectOptions, effectOptionNames, effectPlace } from './declare-effect.js';
import type { ExternalCommitContext, ExternalEffect, JsonValue, PerformContext } from './effect.js';
import type { EventOf } from './event.js';
import { leaseOf } from './lease.js';
import type { Recovery } from './recovery.js';

/** What a call returns: stored, answered to duplicates, and handed to `commit`. */
// biome-ignore lint/suspicious/noConfusingVoidType: an async function without a return is a Promise<void>
export type PerformResult = JsonValue | undefined | void;

/** What an external effect says about itself. */
export interface ExternalEffectOptions<
  Source extends string,
  Events extends EventSchemas,
  Types extends keyof Events & string,
  Result extends PerformResult,
> extends EffectOptions<Source, Events, Types> {
  /**
   * Makes the call. One call to one recipient: of two, the second's failure would say nothing about the first. Its result,
   * any JSON value of at most 1 MiB, is stored and answered to duplicates.
   *
   * A throw leaves the outcome unknown, unless the error proves that nothing was done: `NotDoneError`, `PermanentError`,
   * `NotYetError`, an HTTP status of 4xx other than 408, 409, 425 and 429, a refused connection, a failure of DNS or TLS.
   */
  readonly perform: (context: PerformContext<EventOf<Source, Events, Types>>) => Promise<Result>;
  /** What finishes the work when an attempt ended without telling whether it took hold: `forwardsKey`, `reconcile` or `park`. */
  readonly recovery: Recovery<Result>;
  /** Optional: business rows, written in one transaction with the completion. What it throws does not undo the call. */
  readonly commit?: (
    context: ExternalCommitContext<EventOf<Source, Events, Types>, NoInfer<Result>>,
  ) => Promise<unknown>;
  /**
   * Teaches Onefold the errors of your client: true proves that nothing was done, false that it may have been, undefined
   * leaves it to the default judgement. Never true for an error that may come after the request was sent.
   */
  readonly provesNothingDone?: (error: unknown) => boolean | undefined;
  /** Longest duration of one attempt, at most 1 hour, with `heartbeat` 24 hours. Default '30 seconds'. */
  readonly timeout?: string | number;
  /**
   * For long calls: how often a running attempt renews its lease, which then is short, so that a dead worker is noticed
   * within three of them instead of at the timeout. Default: none.
   */
  readonly heartbeat?: string | number;
  /** How long a claim protects the record. Default: the timeout and 10 seconds, or three heartbeats. */
  readonly lease?: string | number;
  /** How long a parked effect waits for a person before its event goes to the dead letters. Default '30 days'. */
  readonly parkedAtMost?: string | number;
}

const own = ['perform', 'recovery', 'commit', 'provesNothingDone', 'heartbeat', 'lease', 'parkedAtMost'];
const known = [...effectOptionNames, ...own];

const recoveryKinds: ReadonlySet<unknown> = new Set(['forwardsKey', 'reconcile', 'park']);

/**
 * Validates the declaration of an external effect.
 *
 * @throws {OnefoldError} `config_invalid` naming the effect and the option at fault, and why a number is wrong.
 */
export function defineExternalEffect<
  Source extends string,
  Events extends EventSchemas,
  Types extends keyof Events & string,
  Result extends PerformResult,
>(
  source: Source,
  events: Events,
  name: string,
  options: ExternalEffectOptions<Source, Events, Types, Result>,
): ExternalEffect {
  const place = effectPlace(source, name);
  checkName(name, place);
  refuseUnknownOptions(options, known, place);
  const recovery = options.recovery as Recovery | undefined;
  if (!recoveryKinds.has(recovery?.kind)) {
    throw new OnefoldError(
      'config_invalid',
      `${place}.recovery: say what finishes the work when an outcome is unknown: forwardsKey({ validFor }), reconcile(…) or park()`,
    );
  }
  if (options.commit !== undefined) checkFunction(options.commit, `${place}.commit`);
  if (options.provesNothingDone !== undefined) checkFunction(options.provesNothingDone, `${place}.provesNothingDone`);
  const longest = options.heartbeat === undefined ? '1 hour' : '24 hours';
  const timeoutMs = durationMs(options.timeout ?? '30 seconds', `${place}.timeout`, longest);
  return Object.freeze({
    ...declareEffect(source, events, name, options as never, timeoutMs, ['perform']),
    kind: 'external' as const,
    ...leaseOf(options, timeoutMs, place),
    recovery: recovery as Recovery,
    parkedAtMostMs: durationMs(options.parkedAtMost ?? '30 days', `${place}.parkedAtMost`, '365 days'),
    perform: options.perform as ExternalEffect['perform'],
    ...(options.commit ? { commit: options.commit as NonNullable<ExternalEffect['commit']> } : {}),
    ...(options.provesNothingDone ? { provesNothingDone: options.provesNothingDone } : {}),
  });
}
