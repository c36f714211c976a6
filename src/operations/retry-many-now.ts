import { countOpenEvents } from '../ledger/open-events/count-open-events.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import type { OperationsContext } from './context.js';
import { operationFailure } from './operation-failure.js';
import { openEventsOf, type PausableName, pauseActKey, readPausable } from './pauses/read-pausable.js';
import { type ActOptions, readActOptions } from './read-act-options.js';
import { carryOutRetry } from './retry-wish.js';
import { type ToldEvents, type ToldOpenEvents, tellOpenEvents } from './tell-open-events.js';

/** Who wants many events tried now, and why. */
export interface RetryManyNowOptions extends ActOptions {
  /** Only count them. */
  readonly dryRun?: boolean;
  /** Called after each few hundred events that were told. */
  readonly onProgress?: (progress: ToldEvents) => void;
}

const known: readonly (keyof RetryManyNowOptions)[] = ['by', 'reason', 'id', 'dryRun', 'onProgress'];

/** What came of it. */
export interface RetryManyNowOutcome extends ToldOpenEvents {
  readonly kind: 'effect' | 'source';
  readonly name: string;
  /** Undefined for every tenant. */
  readonly tenant?: string;
  /** Identity of the wish. */
  readonly id: string;
  /** Open events that have it before them, as this command found them. */
  readonly found: number;
  /** `told`: all were told. `told_before`: by the same wish, earlier. `interrupted`: some were not; the same id tells anew. */
  readonly outcome: 'told' | 'told_before' | 'interrupted' | 'dry_run';
}

/**
 * Ends the pauses of every open event that has an effect before it, or of every one of a source; of all tenants or of one.
 * What is paused by a person stays so.
 *
 * @throws {OnefoldError} `pause_refused` for an unknown effect or source; `retry_refused` for the id of another act, and
 * without who or why; `config_invalid`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function retryManyNow(
  context: OperationsContext,
  name: PausableName,
  options: RetryManyNowOptions,
): Promise<RetryManyNowOutcome> {
  refuseUnknownOptions(options, known, 'retry-now');
  const wish = readActOptions(options, 'retry_refused');
  const pausable = readPausable(context.catalogue, name);
  const { kind, shown, tenant, names } = pausable;
  const of = openEventsOf(pausable);
  const { database, schema } = context.ledger;
  try {
    const found = await countOpenEvents(database.query, schema, of);
    const named = { kind, name: shown, ...(tenant === undefined ? {} : { tenant }), id: wish.id, found };
    if (options.dryRun) return { ...named, told: 0, gone: 0, outcome: 'dry_run' };
    let told: ToldOpenEvents = { told: 0, gone: 0 };
    const seen = { everyTenant: tenant === undefined, found };
    const act = { ...wish, tenant: tenant ?? '', about: pauseActKey(pausable), seen };
    const isNow = await carryOutRetry(context, act, async () => {
      const requests = names ? [...new Set(names)].map((effect) => ({ effect })) : [{}];
      told = await tellOpenEvents(context, of, requests, options.onProgress);
      return told.interrupted === undefined;
    });
    const outcome = told.interrupted ? 'interrupted' : isNow ? 'told' : 'told_before';
    const { by, reason } = wish;
    context.log.info({ ...named, act: wish.id, by, reason, outcome, ...told }, `${kind}.retried_now`);
    return { ...named, ...told, outcome };
  } catch (error) {
    throw operationFailure(error);
  }
}
