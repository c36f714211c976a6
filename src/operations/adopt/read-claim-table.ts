import { sqlState } from '../../effects/classify-failure.js';
import { OnefoldError } from '../../errors.js';
import type { Database, Sql, TransactionLimits } from '../../ledger/database.js';

/** A row of the query as PostgreSQL writes it as text. */
export interface ClaimTableRow {
  readonly event_key: string | null;
  readonly business_key: string | null;
  readonly result: string | null;
  /** ISO 8601 in UTC. */
  readonly done_at: string | null;
  readonly type: string | null;
  readonly tenant: string | null;
}

/** How each column is read. A time without a zone is read as the session's, which is set to UTC. */
const columns: Readonly<Record<keyof ClaimTableRow, string>> = {
  event_key: 'given.event_key::text',
  business_key: 'given.business_key::text',
  result: 'given.result::text',
  done_at: `to_char(given.done_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  type: 'given.type::text',
  tenant: 'given.tenant::text',
};

/**
 * The query may sort a large table before its first row, and between two fetches a batch is written. A process that is gone
 * takes its connection with it; one that hangs is not to hold back PostgreSQL's clean-up for long.
 */
const limits: TransactionLimits = { statementTimeoutMs: 600_000, lockTimeoutMs: 30_000, idleTimeoutMs: 600_000 };

/** Rows of the first batch, by whose size the next ones are measured: of the largest results 50 MiB. */
const firstRows = 50;

/** What a batch may hold, as text. */
const batchBytes = 16 * 1024 * 1024;

/**
 * Runs the query with a cursor in a transaction that can only read, and hands its rows over in batches, each once the one
 * before was taken care of. All are of one moment.
 *
 * @param mostRows Of a batch; fewer where they are large.
 * @param onBatch Answers whether to go on.
 * @throws {OnefoldError} `adopt_refused` for a query that fails, and for columns that nobody reads.
 */
export async function readClaimTable(
  database: Pick<Database<unknown>, 'transaction'>,
  query: string,
  mostRows: number,
  onBatch: (rows: readonly ClaimTableRow[]) => Promise<boolean>,
): Promise<void> {
  await database.transaction(async (_tx, sql) => {
    await sql('SET TRANSACTION READ ONLY');
    await sql(`SET LOCAL TimeZone = 'UTC'`);
    const names = await explained(() => readColumns(sql, query));
    const read = Object.entries(columns).map(
      ([name, how]) => `${names.includes(name) ? how : 'NULL::text'} AS ${name}`,
    );
    // With a parameter the statement travels by the protocol that takes one statement only, whatever the text holds.
    await explained(() =>
      sql(
        `DECLARE adopted NO SCROLL CURSOR FOR SELECT ${read.join(', ')} FROM (${query}\n) AS given WHERE $1::text IS NOT NULL`,
        ['read'],
      ),
    );
    for (let batchRows = firstRows; ; ) {
      const { rows } = await explained(() => sql<ClaimTableRow>(`FETCH FORWARD ${batchRows} FROM adopted`));
      if (rows.length === 0 || !(await onBatch(rows))) return;
      const rowBytes = rows.reduce((sum, { result }) => sum + (result?.length ?? 0) + 200, 0) / rows.length;
      batchRows = Math.max(1, Math.min(mostRows, Math.floor(batchBytes / rowBytes)));
    }
  }, limits);
}

/** @returns The query's columns; none where it has no rows. @throws {OnefoldError} `adopt_refused` for one that is not ours. */
async function readColumns(sql: Sql, query: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>(
    `SELECT json_object_keys((SELECT row_to_json(given) FROM (${query}\n) AS given LIMIT 1)) AS name WHERE $1::text IS NOT NULL`,
    ['read'],
  );
  const names = rows.map(({ name }) => name);
  const unknown = names.filter((name) => !Object.hasOwn(columns, name));
  const missing = ['event_key', 'business_key'].every((name) => !names.includes(name));
  if (unknown.length > 0 || new Set(names).size < names.length || (missing && names.length > 0)) {
    throw new OnefoldError(
      'adopt_refused',
      `the query has the columns ${names.join(', ')}: name them ${Object.keys(columns).join(', ')}, each once, and at least one of the first two`,
    );
  }
  return names;
}

/** Puts what PostgreSQL says of the query into a refusal; what is wrong with the server stays what it is. */
async function explained<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const state = sqlState(error);
    if (error instanceof OnefoldError || state === undefined || /^(08|53|57|58|XX)/.test(state)) throw error;
    throw new OnefoldError('adopt_refused', `the query failed: ${(error as Error).message} (${state})`, {
      cause: error,
    });
  }
}
