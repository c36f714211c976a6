import type { TransactionLimits } from '../../ledger/database.js';
import { recordAct, setActOutcome } from '../../ledger/record-act.js';
import { cancelSet } from '../../ledger/replay-sets/cancel-set.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';
import { replayManyActKey } from './begin-set.js';
import { knownSet } from './replay-many.js';
import { type SetSummary, summarizeSet } from './set-summary.js';

/** Longer than the replays of a few events that the set's process has under way. */
const limits: TransactionLimits = { statementTimeoutMs: 120_000, lockTimeoutMs: 120_000, idleTimeoutMs: 10_000 };

/** What came of it. */
export interface CancelReplayOutcome extends SetSummary {
  /** `already_ended`: nothing was left, or it had been cancelled before. */
  readonly outcome: 'cancelled' | 'already_ended';
}

/**
 * Ends a replay of many: what has not been asked for is not replayed. Runs that were started go on. Repeating it is harmless;
 * it is recorded as an act of its own, `<id>/cancel`.
 *
 * @throws {OnefoldError} `replay_set_unknown`, `replay_refused` without who or why and for the id of another act,
 * `ledger_unavailable`, `migration_missing`.
 */
export async function cancelReplay(
  context: OperationsContext,
  name: { readonly tenant?: string; readonly id: string },
  options: Pick<ActOptions, 'by' | 'reason'>,
): Promise<CancelReplayOutcome> {
  refuseUnknownOptions(options, ['by', 'reason'], 'cancelling a replay');
  const { by, reason } = readActOptions(options);
  try {
    const set = await knownSet(context, name);
    const { tenant, id } = set;
    const { database, schema } = context.ledger;
    const before = await summarizeSet(context, set);
    const isCancelled = await database.transaction(async (_tx, sql) => {
      if (!(await cancelSet(sql, schema, set))) return false;
      await recordAct(sql, schema, {
        tenant,
        id: `${id}/cancel`,
        kind: 'replay_many',
        eventKey: replayManyActKey,
        actor: by,
        reason,
        seen: JSON.stringify({ counts: before.counts }),
        outcome: 'cancelled',
      });
      await setActOutcome(sql, schema, { tenant, id, outcome: 'cancelled' });
      return true;
    }, limits);
    if (isCancelled) context.log.info({ act: id, by, reason, tenant }, 'webhook.replay_set_cancelled');
    const summary = await summarizeSet(context, await knownSet(context, name));
    return { ...summary, outcome: isCancelled ? 'cancelled' : 'already_ended' };
  } catch (error) {
    throw operationFailure(error);
  }
}
