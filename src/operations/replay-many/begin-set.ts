import { OnefoldError } from '../../errors.js';
import type { TransactionLimits } from '../../ledger/database.js';
import { readAct, recordAct } from '../../ledger/record-act.js';
import { freezeSet } from '../../ledger/replay-sets/freeze-set.js';
import { type ReplaySet, readSet } from '../../ledger/replay-sets/read-set.js';
import type { OperationsContext } from '../context.js';
import type { ActOptions } from '../read-act-options.js';
import type { ReadReplayFilter } from './replay-filter.js';
import { mostEvents, type ReplaySurvey, surveyReplay } from './survey-replay.js';

/** What the acts of replays of many stand under. */
export const replayManyActKey = 'events';

/** A set of a hundred thousand is written in a few seconds. */
const limits: TransactionLimits = { statementTimeoutMs: 120_000, lockTimeoutMs: 120_000, idleTimeoutMs: 10_000 };

/** What was shown before a set was frozen; kept with its act. */
type Seen = Omit<ReplaySurvey, 'tenant' | 'first'>;

/**
 * Finds the set that was frozen under an id.
 *
 * @throws {OnefoldError} `replay_refused` where the id is that of another act.
 */
export async function findSet(
  { ledger }: OperationsContext,
  name: { readonly tenant: string; readonly id: string },
): Promise<ReplaySet | undefined> {
  const { query } = ledger.database;
  const set = await readSet(query, ledger.schema, name);
  if (set) return set;
  const act = await readAct(query, ledger.schema, name.tenant, name.id);
  if (!act) return undefined;
  throw new OnefoldError('replay_refused', `the id ${name.id} is that of another act: ${act.kind} of ${act.eventKey}`);
}

/**
 * Freezes a set, and records the act in the same transaction.
 *
 * @returns Undefined where the filter takes in nothing: then nothing is recorded.
 * @throws {OnefoldError} `replay_set_too_large`.
 */
export async function beginSet(
  context: OperationsContext,
  read: ReadReplayFilter,
  { id, by, reason }: Required<ActOptions>,
  rate: number,
): Promise<ReplaySet | undefined> {
  const { database, schema } = context.ledger;
  const { selection, effect, filter } = read;
  const { tenant } = selection;
  const { tenant: _tenant, first: _first, ...survey } = await surveyReplay(context, read);
  const seen: Seen = survey;
  const size = await database
    .transaction(async (_tx, sql) => {
      const isFirst = await recordAct(sql, schema, {
        tenant,
        id,
        kind: 'replay_many',
        eventKey: replayManyActKey,
        actor: by,
        reason,
        seen: JSON.stringify(seen),
        outcome: 'asked',
      });
      // The same command given twice at once: the other has frozen the set.
      if (!isFirst) return undefined;
      const frozen = await freezeSet(sql, schema, selection, {
        id,
        filter,
        ...(effect === undefined ? {} : { effect }),
        rate,
        limit: mostEvents + 1,
      });
      // Thrown inside, so that neither the set nor its act is left.
      if (frozen > mostEvents) throw tooLarge();
      if (frozen === 0) throw new NothingFound();
      return frozen;
    }, limits)
    .catch((error: unknown) => {
      if (error instanceof NothingFound) return 0;
      throw error;
    });
  if (size === 0) return undefined;
  if (size !== undefined) {
    context.log.info({ act: id, by, reason, tenant, filter, effect, size }, 'webhook.replay_set_frozen');
  }
  return findSet(context, { tenant, id });
}

/** Rolls the freezing of an empty set back. */
class NothingFound extends Error {}

/** Says that a filter takes in too much. */
export function tooLarge(): OnefoldError {
  return new OnefoldError(
    'replay_set_too_large',
    `the filter takes in more than ${mostEvents} events: narrow it, such as by --since and --until`,
  );
}
