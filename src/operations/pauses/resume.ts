import { countOpenEvents } from '../../ledger/open-events/count-open-events.js';
import { deletePause } from '../../ledger/pauses/delete-pause.js';
import { listPauses } from '../../ledger/pauses/list-pauses.js';
import type { RecordedPause } from '../../ledger/pauses/pause-row.js';
import { readPause } from '../../ledger/pauses/read-pause.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';
import { type ToldEvents, type ToldOpenEvents, tellOpenEvents } from '../tell-open-events.js';
import { pauseLimits, recordPauseWish, type ShownPause, shownPause } from './pause-wish.js';
import { openEventsOf, type Pausable, type PausableName, readPausable } from './read-pausable.js';

/** Who resumes, and why. */
export interface ResumeOptions extends ActOptions {
  /** Only say what would be done. */
  readonly dryRun?: boolean;
  /** Called after each few hundred events that were told. */
  readonly onProgress?: (progress: ToldEvents) => void;
}

const known: readonly (keyof ResumeOptions)[] = ['by', 'reason', 'id', 'dryRun', 'onProgress'];

/** What came of the wish to resume an effect or a source. */
export interface ResumeOutcome extends ToldOpenEvents {
  readonly kind: 'effect' | 'source';
  /** An effect's present name. */
  readonly name: string;
  /** Undefined for every tenant. */
  readonly tenant?: string;
  /** Identity of the wish. */
  readonly id: string;
  /**
   * `resumed`: what waited goes on. `not_paused`: it was not paused, and whoever waited all the same was told to look.
   * `superseded`: this wish was carried out before, and somebody has paused it since. `dry_run`: nothing was changed.
   */
  readonly outcome: 'resumed' | 'not_paused' | 'superseded' | 'dry_run';
  /** The pause that it ended, or would. */
  readonly before?: ShownPause;
  /** Other pauses that hold the same, or a part of it: of the source, of one tenant, of every tenant. */
  readonly stillPaused: readonly ShownPause[];
  /** Open events that have it before them. */
  readonly waiting: number;
}

/**
 * Ends a pause, and tells every event that waits for it to look now. The pause is gone when its act is recorded; telling
 * comes after, and whoever is not told, as when this process dies, looks within a quarter of an hour by itself. The same id
 * again tells once more.
 *
 * @throws {OnefoldError} `pause_refused` for what neither the configuration nor a pause has, for the id of another act, and
 * without who or why; `config_invalid`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function resume(
  context: OperationsContext,
  name: PausableName,
  options: ResumeOptions,
): Promise<ResumeOutcome> {
  refuseUnknownOptions(options, known, 'resume');
  const wish = readActOptions(options, 'pause_refused');
  const { database, schema } = context.ledger;
  try {
    const pausable = readPausable(context.catalogue, name, await listPauses(database.query, schema));
    const { before, outcome } = await database.transaction(async (_tx, sql) => {
      const before = await readPause(sql, schema, pausable);
      if (options.dryRun) return { before, outcome: 'dry_run' as const };
      if (!(await recordPauseWish(sql, schema, 'resume', pausable, wish, before))) {
        return { before: undefined, outcome: before ? ('superseded' as const) : ('resumed' as const) };
      }
      if (!before) return { before, outcome: 'not_paused' as const };
      await deletePause(sql, schema, pausable);
      return { before, outcome: 'resumed' as const };
    }, pauseLimits());
    const { kind, shown, tenant } = pausable;
    const named = { kind, name: shown, ...(tenant === undefined ? {} : { tenant }) };
    const { id: act, by, reason } = wish;
    if (!options.dryRun) context.log.info({ ...named, act, by, reason, outcome }, `${kind}.resumed`);
    const others = await listPauses(database.query, schema);
    const answer = {
      ...named,
      id: act,
      outcome,
      ...(before ? { before: shownPause(context.catalogue, before) } : {}),
      stillPaused: others
        .filter((one) => holds(context, one, pausable))
        .map((one) => shownPause(context.catalogue, one)),
      waiting: await countOpenEvents(database.query, schema, openEventsOf(pausable)),
    };
    if (outcome === 'dry_run' || outcome === 'superseded') return { ...answer, told: 0, gone: 0 };
    return {
      ...answer,
      ...(await tellOpenEvents(context, openEventsOf(pausable), requests(pausable), options.onProgress)),
    };
  } catch (error) {
    throw operationFailure(error);
  }
}

/** Under each name, since a running event knows the effect by the one that it had when it was planned. */
function requests({ names }: Pausable): readonly { readonly effect?: string; readonly waitingFor: string }[] {
  const waitingFor = 'effect_paused';
  return names ? [...new Set(names)].map((effect) => ({ effect, waitingFor })) : [{ waitingFor }];
}

/** Whether another pause holds some of the same. */
function holds({ catalogue }: OperationsContext, one: RecordedPause, resumed: Pausable): boolean {
  const { kind, name, tenant } = one;
  if (tenant !== undefined && resumed.tenant !== undefined && tenant !== resumed.tenant) return false;
  const isSame = kind === resumed.kind && (resumed.names?.includes(name) ?? name === resumed.name);
  if (isSame) return resumed.tenant !== tenant;
  if (resumed.kind === 'effect') return kind === 'source' && catalogue.effect(resumed.name)?.source === name;
  return kind === 'effect' && catalogue.effect(name)?.source === resumed.name;
}
