import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { setActOutcome } from '../../ledger/record-act.js';
import { endSet } from '../../ledger/replay-sets/end-set.js';
import { type ReplaySet, readSet } from '../../ledger/replay-sets/read-set.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { type Interruption, interruption } from '../interruption.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';
import { beginSet, findSet } from './begin-set.js';
import { carrySet } from './carry-set.js';
import { type ReplayFilter, readReplayFilter } from './replay-filter.js';
import { type ReplayCounts, type SetSummary, summarizeSet } from './set-summary.js';

/** Who replays many events, why, and how fast. */
export interface ReplayManyOptions extends ActOptions {
  /** Run only this effect, which was added later, for events that are done without it, or were recorded without effects. */
  readonly effect?: string;
  /** Events per second, 0.1 to 1000, of this process. Default 20. */
  readonly rate?: number;
  /** When it aborts, the events under way are ended and no more are begun; the same id goes on later. */
  readonly signal?: AbortSignal;
  /** Called when the set is frozen, and after each few events. */
  readonly onProgress?: (progress: ReplayManyProgress) => void;
}

const known: readonly (keyof ReplayManyOptions)[] = ['by', 'reason', 'id', 'effect', 'rate', 'signal', 'onProgress'];

/** How far a replay of many has come. */
export interface ReplayManyProgress {
  readonly size: number;
  readonly counts: ReplayCounts;
}

/** What came of a replay of many. */
export interface ReplayManyOutcome extends SetSummary {
  /**
   * `ended`: every event has an outcome. `stopped`: the signal came first. `interrupted`: something that concerns every event
   * kept it from going on; it, too, goes on with the same id. `cancelled`: a person has ended it.
   */
  readonly outcome: 'ended' | 'stopped' | 'interrupted' | 'cancelled';
  /** Why it was interrupted. */
  readonly because?: Interruption;
}

/** The filter took in nothing, and nothing was recorded. */
export interface NothingToReplay {
  readonly tenant: string;
  readonly outcome: 'nothing_found';
}

/** Runs of twenty events in a second are noticed by no recipient that bears its ordinary traffic. */
const defaultRate = 20;
const leastRate = 0.1;
const mostRate = 1000;

/**
 * Replays every event that a filter takes in. The set is frozen first, with its act: what fails after that is not in it. Each
 * event is then replayed as by `replayEvent`, under an act whose id is the set's and its position, so that each is asked for
 * once, however often the command is broken off and repeated under the same id, and by however many processes.
 *
 * Where a set was frozen under the id before, that one is carried on: neither filter, reason nor name is looked at then, and
 * that of a set that has ended is answered.
 *
 * @throws {OnefoldError} `filter_missing`, `request_invalid`, `replay_set_too_large`, `effect_unknown`, `config_invalid` for an
 * unknown option or filter, `identity_invalid`, `replay_refused` without who or why and for the id of another act;
 * `ledger_unavailable`, `migration_missing` where nothing was begun.
 */
export async function replayMany(
  context: OperationsContext,
  filter: ReplayFilter,
  options: ReplayManyOptions,
): Promise<ReplayManyOutcome | NothingToReplay> {
  refuseUnknownOptions(options, known, 'replay of many');
  const act = readActOptions(options);
  checkRate(options.rate);
  const tenant = checkTenant(filter.tenant ?? '');
  try {
    const earlier = options.id === undefined ? undefined : await findSet(context, { tenant, id: act.id });
    if (earlier) return await carryOn(context, sameEffect(context, earlier, options.effect), options);
    const read = readReplayFilter(context.catalogue, filter, options.effect);
    const set = await beginSet(context, read, act, options.rate ?? defaultRate);
    return set ? await carryOn(context, set, options) : { tenant, outcome: 'nothing_found' };
  } catch (error) {
    throw operationFailure(error);
  }
}

/** How a set is carried on by another process or another person. */
export type ContinueReplayOptions = Pick<ReplayManyOptions, 'rate' | 'signal' | 'onProgress'>;

/**
 * Carries a set on that was frozen before; of one that has ended, says how.
 *
 * @throws {OnefoldError} `replay_set_unknown`, `replay_refused` for the id of another act, `request_invalid`,
 * `ledger_unavailable`, `migration_missing`.
 */
export async function continueReplay(
  context: OperationsContext,
  name: { readonly tenant?: string; readonly id: string },
  options: ContinueReplayOptions = {},
): Promise<ReplayManyOutcome> {
  refuseUnknownOptions(options, ['rate', 'signal', 'onProgress'], 'continued replay');
  checkRate(options.rate);
  try {
    return await carryOn(context, await knownSet(context, name), options);
  } catch (error) {
    throw operationFailure(error);
  }
}

/**
 * Says how far a set has come. Changes nothing.
 *
 * @throws {OnefoldError} `replay_set_unknown`, `replay_refused` for the id of another act, `ledger_unavailable`.
 */
export async function showReplaySet(
  context: OperationsContext,
  name: { readonly tenant?: string; readonly id: string },
): Promise<SetSummary> {
  try {
    return await summarizeSet(context, await knownSet(context, name));
  } catch (error) {
    throw operationFailure(error);
  }
}

/** @throws {OnefoldError} `replay_set_unknown`, `replay_refused`. */
export async function knownSet(
  context: OperationsContext,
  { tenant, id }: { readonly tenant?: string; readonly id: string },
): Promise<ReplaySet> {
  const set = await findSet(context, { tenant: checkTenant(tenant ?? ''), id });
  if (set) return set;
  throw new OnefoldError('replay_set_unknown', `no replay of many was begun under the id ${id}`);
}

async function carryOn(
  context: OperationsContext,
  set: ReplaySet,
  { rate, signal, onProgress }: ContinueReplayOptions,
): Promise<ReplayManyOutcome> {
  const { database, schema } = context.ledger;
  const { tenant, id } = set;
  let because: Interruption | undefined;
  if (set.state === 'open') {
    try {
      const isEnded = await carrySet(context, set, {
        rate: rate ?? set.rate ?? defaultRate,
        ...(signal ? { signal } : {}),
        onProgress: (counts) => onProgress?.({ size: set.size, counts }),
      });
      if (isEnded && (await endSet(database.query, schema, set))) {
        await setActOutcome(database.query, schema, { tenant, id, outcome: 'ended' });
      }
    } catch (error) {
      // The act is recorded and partly carried out: whoever asked has to learn under which id it goes on.
      because = interruption(operationFailure(error));
      context.log.warn({ act: id, code: because.code, reason: because.message }, 'webhook.replay_set_interrupted');
    }
  }
  if (because) return { ...(await lastKnown(context, set)), outcome: 'interrupted', because };
  const summary = await summarizeSet(context, (await readSet(database.query, schema, set)) ?? set);
  const outcome = summary.state === 'open' ? 'stopped' : summary.state;
  context.log.info({ act: id, tenant, size: set.size, ...summary.counts, outcome }, 'webhook.replay_set_carried');
  return { ...summary, outcome };
}

/** How far a set has come, as far as PostgreSQL can be asked: it may be what interrupted the replay. */
async function lastKnown(context: OperationsContext, set: ReplaySet): Promise<SetSummary> {
  const nothing: ReplayCounts = {
    started: 0,
    nothing_to_do: 0,
    lost_race: 0,
    refused: 0,
    cancelled: 0,
    open: set.size,
  };
  return summarizeSet(context, set).catch(() => ({ ...set, counts: nothing, refusals: [] }));
}

function sameEffect({ catalogue }: OperationsContext, set: ReplaySet, effect: string | undefined): ReplaySet {
  if (effect === undefined || (catalogue.effect(effect)?.name ?? effect) === set.effect) return set;
  throw new OnefoldError(
    'replay_refused',
    `the id ${set.id} is that of another wish: to run ${set.effect === undefined ? 'all of each event' : `'${set.effect}'`}`,
  );
}

function checkRate(rate: number | undefined): void {
  if (rate === undefined || (rate >= leastRate && rate <= mostRate)) return;
  throw new OnefoldError('request_invalid', `rate: expected ${leastRate} to ${mostRate} events per second`);
}
