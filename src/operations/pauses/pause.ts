import { countOpenEvents } from '../../ledger/open-events/count-open-events.js';
import { readPause } from '../../ledger/pauses/read-pause.js';
import { writePause } from '../../ledger/pauses/write-pause.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';
import { pauseLimits, recordPauseWish, type ShownPause, shownPause } from './pause-wish.js';
import { openEventsOf, type PausableName, readPausable } from './read-pausable.js';

/** Who pauses, and why. */
export interface PauseOptions extends ActOptions {
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

const known: readonly (keyof PauseOptions)[] = ['by', 'reason', 'id', 'dryRun'];

/** What came of the wish to pause an effect or a source. */
export interface PauseOutcome {
  readonly kind: 'effect' | 'source';
  /** An effect's present name. */
  readonly name: string;
  /** Undefined for every tenant. */
  readonly tenant?: string;
  /** Identity of the wish. */
  readonly id: string;
  /**
   * `paused`: no attempt begins any more. `already_paused`: somebody had paused it before, and this reason stands beside
   * theirs. `superseded`: this wish was carried out before, and somebody has resumed it since. `dry_run`: nothing was changed.
   */
  readonly outcome: 'paused' | 'already_paused' | 'superseded' | 'dry_run';
  /** The pause that it met. */
  readonly before?: ShownPause;
  /** Open events that have it before them. */
  readonly waiting: number;
}

/**
 * Pauses an effect, or every effect of a source, for one tenant or for all. From its commit on no attempt begins: the claim
 * itself looks. An attempt whose claim has begun by then goes on to its end, also where it still waits for another
 * transaction on its key. The receiver goes on accepting, and events are planned; what waits spends neither attempts nor
 * elapsed time. Of a call that was made, the commit waits too.
 *
 * @throws {OnefoldError} `pause_refused` for what is unknown, for the id of another act, and without who or why;
 * `config_invalid`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function pause(
  context: OperationsContext,
  name: PausableName,
  options: PauseOptions,
): Promise<PauseOutcome> {
  refuseUnknownOptions(options, known, 'pause');
  const wish = readActOptions(options, 'pause_refused');
  const pausable = readPausable(context.catalogue, name);
  const { kind, shown, tenant } = pausable;
  const { database, schema } = context.ledger;
  try {
    const { before, outcome } = await database.transaction(async (_tx, sql) => {
      const before = await readPause(sql, schema, pausable);
      if (options.dryRun) return { before, outcome: 'dry_run' as const };
      if (!(await recordPauseWish(sql, schema, 'pause', pausable, wish, before))) {
        return { before, outcome: before ? ('paused' as const) : ('superseded' as const) };
      }
      await writePause(sql, schema, { ...pausable, act: wish.id, by: wish.by, reason: wish.reason });
      return { before, outcome: before ? ('already_paused' as const) : ('paused' as const) };
    }, pauseLimits());
    const named = { kind, name: shown, ...(tenant === undefined ? {} : { tenant }) };
    const { id: act, by, reason } = wish;
    if (!options.dryRun) context.log.info({ ...named, act, by, reason, outcome }, `${kind}.paused`);
    return {
      ...named,
      id: act,
      outcome,
      ...(before && before.act !== act ? { before: shownPause(context.catalogue, before) } : {}),
      waiting: await countOpenEvents(database.query, schema, openEventsOf(pausable)),
    };
  } catch (error) {
    throw operationFailure(error);
  }
}
