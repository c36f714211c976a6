import { OnefoldError } from '../../errors.js';
import { endAdoption } from '../../ledger/adopt/end-adoption.js';
import type { Database } from '../../ledger/database.js';
import { pgDatabase } from '../../ledger/pg-database.js';
import { readAct, recordAct } from '../../ledger/record-act.js';
import { sha256 } from '../../runtime/sha256.js';
import type { OperationsContext } from '../context.js';
import { type Interruption, interruption } from '../interruption.js';
import { operationFailure } from '../operation-failure.js';
import { adoptBatch, lookAtBatch, type RowOutcome } from './adopt-batch.js';
import { type AdoptOptions, type AdoptPlan, type AdoptProgress, readAdoptOptions } from './adopt-options.js';
import { type ClaimTableRow, readClaimTable } from './read-claim-table.js';
import { readRow } from './read-row.js';

/** A row that was not adopted. */
export interface RowNotAdopted {
  /** Of the query's rows, counted from 1. */
  readonly line: number;
  readonly why: string;
}

/** What an adoption came to. */
export interface AdoptOutcome extends AdoptProgress {
  /** Identity of the act. */
  readonly id: string;
  readonly source: string;
  readonly effect: string;
  readonly dryRun: boolean;
  /**
   * Other effects that act on events of these types. A redelivery of an adopted event runs none of them: adopt what they have
   * done as well, and `replay` one of them by name where it is to run.
   */
  readonly notRun: readonly string[];
  /** The first conflicts, at most 20. */
  readonly firstConflicts: readonly RowNotAdopted[];
  /** The first refused rows, at most 20. */
  readonly firstRefused: readonly RowNotAdopted[];
  /** Why it did not come to the end of the rows. What it wrote stays; the same again goes on. */
  readonly interrupted?: Interruption;
}

/** Rows of one transaction: half a second of locks, and few round trips. */
const batchRows = 2_000;

const firstRows = 20;

/**
 * Brings in what an earlier system has done for an effect, from its claim table: each row becomes a completion of the ledger,
 * final like any other, and its event is recorded as done. Redeliveries of those events, and other events with the same
 * business key, then find the effect done and answer the stored result.
 *
 * What the ledger has stands: an effect that is under way, or unknown, is reported as a conflict. It may be repeated at any
 * time, and finds then what was done since. A dry run reads everything and changes nothing.
 *
 * @throws {OnefoldError} `config_invalid`, `effect_unknown`, `identity_invalid`; `adopt_refused` for a query that fails or has
 * unknown columns, and for the id of another act; `ledger_unavailable`, `migration_missing`.
 */
export async function adopt(context: OperationsContext, options: AdoptOptions): Promise<AdoptOutcome> {
  const plan = readAdoptOptions(context, options);
  const own = plan.from === undefined ? undefined : pgDatabase({ connectionString: plan.from, max: 1 });
  try {
    return await carryOut(context, plan, own ?? context.ledger.database, options);
  } catch (error) {
    throw operationFailure(error);
  } finally {
    await own?.close();
  }
}

async function carryOut(
  context: OperationsContext,
  plan: AdoptPlan,
  from: Pick<Database<unknown>, 'transaction'>,
  { dryRun = false, onProgress, signal }: AdoptOptions,
): Promise<AdoptOutcome> {
  const { ledger } = context;
  if (!dryRun) await begin(context, plan);
  const count = { rows: 0, adopted: 0, alreadyThere: 0, conflicts: 0, refused: 0 };
  const firstConflicts: RowNotAdopted[] = [];
  const firstRefused: RowNotAdopted[] = [];
  const now = new Date();

  const take = async (batch: readonly ClaimTableRow[]): Promise<boolean> => {
    const read = batch.map((row, index) => ({ line: count.rows + index + 1, row: readRow(plan, row, now) }));
    const rows = read.flatMap(({ line, row }) => ('refused' in row ? [] : [{ line, row }]));
    const outcomes = await (dryRun ? lookAtBatch : adoptBatch)(
      ledger,
      plan,
      rows.map(({ row }) => row),
    );
    for (const { line, row } of read) if ('refused' in row) keep(firstRefused, line, row.refused);
    for (const [index, { line }] of rows.entries()) tally(line, outcomes[index] as RowOutcome);
    count.refused += batch.length - rows.length;
    count.rows += batch.length;
    onProgress?.({ ...count });
    return !signal?.aborted;
  };

  const tally = (line: number, outcome: RowOutcome): void => {
    if (outcome === 'adopted') count.adopted += 1;
    else if (outcome === 'already_there') count.alreadyThere += 1;
    else {
      count.conflicts += 1;
      keep(firstConflicts, line, outcome.conflict);
    }
  };

  let interrupted: Interruption | undefined;
  try {
    await readClaimTable(from, plan.sql, batchRows, take);
    if (signal?.aborted) interrupted = { code: 'stopped', message: 'stopped between two batches' };
  } catch (error) {
    // Before the first batch nothing was begun, and what is wrong is the query or the servers.
    if (count.rows === 0) throw error;
    interrupted = interruption(operationFailure(error));
  }
  const { act, effect, notRun } = plan;
  const outcome = {
    id: act.id,
    source: effect.source,
    effect: effect.name,
    dryRun,
    ...count,
    notRun,
    firstConflicts,
    firstRefused,
    ...(interrupted ? { interrupted } : {}),
  };
  if (!dryRun) await end(context, plan, outcome);
  return outcome;
}

function keep(first: RowNotAdopted[], line: number, why: string): void {
  if (first.length < firstRows) first.push({ line, why });
}

/** @throws {OnefoldError} `adopt_refused` where the id is another act's. */
async function begin({ ledger }: OperationsContext, plan: AdoptPlan): Promise<void> {
  const { query } = ledger.database;
  const { id, by, reason } = plan.act;
  const eventKey = `effect/${plan.ledgerName}`;
  const recorded = await recordAct(query, ledger.schema, {
    tenant: plan.tenant,
    id,
    kind: 'adopt',
    eventKey,
    actor: by,
    reason,
    seen: seenOf(plan),
    outcome: 'begun',
  });
  if (recorded) return;
  const earlier = await readAct(query, ledger.schema, plan.tenant, id);
  if (earlier?.kind === 'adopt' && earlier.eventKey === eventKey) return;
  throw new OnefoldError(
    'adopt_refused',
    `the id ${id} is that of another act: ${earlier?.kind} of ${earlier?.eventKey}`,
  );
}

async function end({ ledger, log }: OperationsContext, plan: AdoptPlan, outcome: AdoptOutcome): Promise<void> {
  const { rows, adopted, alreadyThere, conflicts, refused, interrupted } = outcome;
  const counts = { rows, adopted, alreadyThere, conflicts, refused };
  const word = interrupted ? 'interrupted' : 'ended';
  const { id, by, reason } = plan.act;
  const code = interrupted?.code;
  log.info(
    { effect: plan.effect.name, source: plan.effect.source, act: id, by, reason, outcome: word, ...counts, code },
    'effect.adopted',
  );
  const act = { tenant: plan.tenant, id, outcome: word, seen: seenOf(plan, counts) };
  await endAdoption(ledger.database.query, ledger.schema, act);
}

/** The query itself may hold what nobody else is to read, so its digest stands for it. */
function seenOf({ effect, sql, from, notRun }: AdoptPlan, counts: object = {}): string {
  return JSON.stringify({ source: effect.source, sql: sha256(sql), elsewhere: from !== undefined, notRun, ...counts });
}
