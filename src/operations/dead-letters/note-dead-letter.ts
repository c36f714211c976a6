import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import type { TransactionLimits } from '../../ledger/database.js';
import { noteDeadLetter as write } from '../../ledger/dead-letters/note-dead-letter.js';
import { readAct, recordAct } from '../../ledger/record-act.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';
import { findDeadLetter, type ShownDeadLetter, showDeadLetter } from './show-dead-letter.js';

/** Who looks after a dead letter, what they found, and who says so. */
export interface NoteOptions extends ActOptions {
  /** Default ''. */
  readonly tenant?: string;
  /** Who looks after it; '' for nobody. Default: as it is. */
  readonly owner?: string;
  /** What was found; '' takes it away. Default: as it is. */
  readonly note?: string;
}

const known: readonly (keyof NoteOptions)[] = ['tenant', 'owner', 'note', 'by', 'reason', 'id'];

/** The most of each that is kept. */
const ownerLimit = 200;
const noteLimit = 2_000;

/** Two short statements. */
const limits: TransactionLimits = { statementTimeoutMs: 10_000, lockTimeoutMs: 10_000, idleTimeoutMs: 10_000 };

/**
 * Writes down who looks after a dead letter and what they found. It changes nothing about the event.
 *
 * @param name As `showDeadLetter` takes it.
 * @throws {OnefoldError} `note_refused` where neither is given, one is too long, or who and why are missing, and for the id of
 * another act; `dead_letter_unknown`, `config_invalid`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function noteDeadLetter(
  context: OperationsContext,
  name: string,
  options: NoteOptions,
): Promise<ShownDeadLetter> {
  refuseUnknownOptions(options, known, 'note on a dead letter');
  const { owner, note } = options;
  const { by, reason, id } = readActOptions(options, 'note_refused');
  if (owner === undefined && note === undefined) throw refused('an owner or a note is needed');
  if ((owner?.length ?? 0) > ownerLimit) throw refused(`an owner has at most ${ownerLimit} characters`);
  if ((note?.length ?? 0) > noteLimit) throw refused(`a note has at most ${noteLimit} characters`);
  const { database, schema } = context.ledger;
  const tenant = checkTenant(options.tenant ?? '');
  try {
    const letter = await findDeadLetter(context, tenant, name);
    await database.transaction(async (_tx, sql) => {
      const act = { tenant: letter.tenant, id, kind: 'note', eventKey: letter.key, actor: by, reason } as const;
      const seen = JSON.stringify({ letter: letter.id, owner: letter.owner ?? null, note: letter.note ?? null });
      if (!(await recordAct(sql, schema, { ...act, seen, outcome: 'noted' }))) {
        const earlier = await readAct(sql, schema, letter.tenant, id);
        if (earlier?.kind !== 'note' || earlier.eventKey !== letter.key)
          throw refused(`the id ${id} is that of another act`);
        return;
      }
      await write(sql, schema, { tenant: letter.tenant, id: letter.id, owner, note });
    }, limits);
    context.log.info({ key: letter.key, letter: letter.id, act: id, by, owner }, 'dead_letter.noted');
    return await showDeadLetter(context, letter.id, { tenant: letter.tenant });
  } catch (error) {
    throw operationFailure(error);
  }
}

function refused(because: string): OnefoldError {
  return new OnefoldError('note_refused', because);
}
