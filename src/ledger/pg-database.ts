import pg from 'pg';
import { OnefoldError } from '../errors.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { orAborted } from '../runtime/or-aborted.js';
import { sha256 } from '../runtime/sha256.js';
import type { Database, Sql, SqlResult, TransactionLimits } from './database.js';
import { endsTransaction } from './ends-transaction.js';
import { pgListen } from './pg-listen.js';

/** What `commit` gets from the built-in `pg` database: queries inside the effect's transaction, and nothing else. */
export interface PgTransaction {
  /**
   * Runs one statement with `$1`-style parameters.
   *
   * @throws {OnefoldError} `transaction_split` for a statement that would begin or end a transaction: claim, write and
   * completion belong together. Savepoints are fine.
   */
  query<Row extends Record<string, unknown> = Record<string, any>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>;
}

/** Options of {@link pgDatabase}. */
export interface PgDatabaseOptions {
  readonly connectionString: string;
  /** Connections at most. A worker needs two per unit of its concurrency and two more. Default 32, the default worker's. */
  readonly max?: number;
  /** How long to wait for a connection, ms. Default 3000: beyond it an attempt fails and is retried. */
  readonly connectTimeoutMs?: number;
  /**
   * How long one statement of the ledger's own outside a transaction may take, ms, and at least 1000. Beyond it the
   * connection is dropped, since it may lead nowhere. Default 10_000: longer than a busy database needs, shorter than any
   * timeout of the activities that wait for it. Transactions have the limits of their attempts.
   */
  readonly queryTimeoutMs?: number;
  /**
   * How long one statement of the ledger's own outside a transaction waits for a row that another transaction holds, ms.
   * Default: as long as the statement may take. Behind a pooler with `prepare: false` it does not hold.
   */
  readonly lockTimeoutMs?: number;
  readonly applicationName?: string;
  /**
   * Keep the ledger's own statements prepared on each connection, which spares PostgreSQL parsing and planning them each
   * time. Default true; false behind a pooler in transaction mode that does not follow prepared statements, which also
   * leaves out the connection's `statement_timeout`. A pooler that does follow them must let that parameter through or
   * ignore it (PgBouncer: `ignore_startup_parameters`).
   */
  readonly prepare?: boolean;
  /** Told of errors on idle connections; without a listener Node would end the process. */
  readonly onIdleError?: (error: Error) => void;
}

const defaultQueryTimeoutMs = 10_000;

/** So much before the wait ends does the server end the statement, so that its own error is what comes. */
const serverFirstMs = 500;

const known: readonly (keyof PgDatabaseOptions)[] = [
  'connectionString',
  'max',
  'connectTimeoutMs',
  'queryTimeoutMs',
  'lockTimeoutMs',
  'applicationName',
  'prepare',
  'onIdleError',
];

/**
 * The built-in door to PostgreSQL, over a pool of `pg`. Opens nothing until used.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option, for a `max` that is no whole number from 1, and for a
 * `queryTimeoutMs` that is none from 1000 to an hour.
 */
export function pgDatabase(options: PgDatabaseOptions): Database<PgTransaction> {
  refuseUnknownOptions(options, known, 'pgDatabase');
  const { max } = options;
  if (max !== undefined && !(Number.isInteger(max) && max >= 1)) {
    throw new OnefoldError('config_invalid', `pgDatabase.max: expected a whole number from 1, got ${max}`);
  }
  const { queryTimeoutMs = defaultQueryTimeoutMs } = options;
  if (!(Number.isInteger(queryTimeoutMs) && queryTimeoutMs >= 1000 && queryTimeoutMs <= 3_600_000)) {
    throw new OnefoldError(
      'config_invalid',
      `pgDatabase.queryTimeoutMs: expected a whole number from 1000 to 3600000, got ${queryTimeoutMs}`,
    );
  }
  let pool: pg.Pool | undefined;
  let closing: Promise<void> | undefined;
  const listening = new Set<() => Promise<void>>();
  const run = options.prepare === false ? runText : runPrepared;
  const open = (): pg.Pool => {
    if (pool) return pool;
    pool = new pg.Pool({
      connectionString: options.connectionString,
      max: options.max ?? 32,
      connectionTimeoutMillis: options.connectTimeoutMs ?? 3000,
      application_name: options.applicationName ?? 'onefold',
      // The server ends a statement first; where it cannot be reached, the timer in `query` ends the wait. A pooler in
      // transaction mode refuses the parameter.
      ...(options.prepare === false
        ? {}
        : {
            statement_timeout: queryTimeoutMs - serverFirstMs,
            ...(options.lockTimeoutMs === undefined ? {} : { lock_timeout: options.lockTimeoutMs }),
          }),
      // Finds an idle connection that is half-open after a network split, within half a minute instead of two hours. One
      // with bytes on their way is TCP's to give up, after a quarter of an hour: hence the bounds of `query` and of each
      // transaction.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    pool.on('error', (error) => options.onIdleError?.(error));
    // The pool listens only to idle connections. One that breaks while it is lent out emits an error as well, beside
    // failing its query, and without a listener that would end the process.
    pool.on('connect', (client) => client.on('error', () => {}));
    return pool;
  };

  const connect = async (): Promise<pg.PoolClient> => {
    try {
      return await open().connect();
    } catch (cause) {
      throw new OnefoldError('ledger_unavailable', `PostgreSQL cannot be reached: ${(cause as Error).message}`, {
        cause,
      });
    }
  };

  const query: Sql = async <Row>(text: string, values?: readonly unknown[]) => {
    const client = await connect();
    let broken: Error | undefined;
    const timer = setTimeout(() => {
      broken = new OnefoldError('ledger_unavailable', `PostgreSQL did not answer within ${queryTimeoutMs} ms`);
      destroy(client);
    }, queryTimeoutMs);
    try {
      return await run<Row>(client, text, values);
    } catch (error) {
      if (broken) throw broken;
      if (isConnectionLoss(error)) broken = error as Error;
      throw error;
    } finally {
      clearTimeout(timer);
      client.release(broken);
    }
  };

  return {
    query,
    async transaction(work, limits) {
      limits.signal?.throwIfAborted();
      const client = await connect();
      if (limits.signal?.aborted) {
        // Its time ran out in the queue for a connection: it must not begin what another attempt may be doing by now.
        client.release();
        throw limits.signal.reason;
      }
      let broken: Error | undefined;
      // An attempt that was told to stop must not commit late: without its connection it cannot.
      const onAbort = (): void => {
        broken = new Error('aborted');
        destroy(client);
      };
      limits.signal?.addEventListener('abort', onAbort, { once: true });
      // A connection that breaks while no query runs emits an error, which nobody else listens to.
      const onError = (error: Error): void => {
        broken = error;
      };
      client.on('error', onError);
      const sql: Sql = (text, values) => run(client, text, values);
      let inProgress = true;
      // A query that the effect did not wait for must not reach the connection when another transaction has it.
      const tx = pgTransaction(
        (text, values) => runText(client, text, values),
        () => inProgress,
      );
      try {
        await client.query(beginStatement(limits));
        // Its connection is gone once it aborts, so whatever work that never listens still does cannot commit.
        const result = await orAborted(work(tx, sql), limits.signal);
        limits.signal?.throwIfAborted();
        inProgress = false;
        const { command } = await client.query('COMMIT');
        if (command !== 'COMMIT') throw abortedBefore();
        return result;
      } catch (error) {
        if (isConnectionLoss(error)) broken = error as Error;
        if (!broken) {
          await client.query('ROLLBACK').catch((rollbackError: Error) => {
            broken = rollbackError;
          });
        }
        // The statement that failed is not the one at fault: an earlier error was caught, and nothing told of it.
        throw (error as { code?: unknown } | null)?.code === inFailedTransaction ? abortedBefore(error) : error;
      } finally {
        inProgress = false;
        limits.signal?.removeEventListener('abort', onAbort);
        client.off('error', onError);
        client.release(broken);
      }
    },
    sqlIn: (tx) => async (text, values) => {
      const { rows, rowCount } = await tx.query(text, values);
      return { rows: rows as never, rowCount: rowCount ?? 0 };
    },
    async listen(channel, onNotify) {
      const stop = await pgListen({
        connectionString: options.connectionString,
        channel,
        applicationName: options.applicationName ?? 'onefold',
        connectTimeoutMs: options.connectTimeoutMs ?? 3000,
        onNotify,
        ...(options.onIdleError ? { onError: options.onIdleError } : {}),
      });
      listening.add(stop);
      return async () => {
        listening.delete(stop);
        await stop();
      };
    },
    close() {
      closing ??= Promise.all([pool?.end(), ...[...listening].map((stop) => stop())]).then(() => undefined);
      return closing;
    },
  };
}

/** PostgreSQL's in_failed_sql_transaction: every statement after one that failed. */
const inFailedTransaction = '25P02';

function abortedBefore(cause?: unknown): OnefoldError {
  return new OnefoldError(
    'transaction_aborted',
    'an error was caught inside the effect, so PostgreSQL rolled the transaction back; use ON CONFLICT or a savepoint, or let the error out',
    { cause },
  );
}

/** BEGIN and the bounds in one round trip; whole numbers only, so nothing needs quoting. */
function beginStatement(limits: TransactionLimits): string {
  const whole = (ms: number): number => Math.max(1, Math.ceil(ms));
  return [
    'BEGIN ISOLATION LEVEL READ COMMITTED',
    `SET LOCAL statement_timeout = ${whole(limits.statementTimeoutMs)}`,
    `SET LOCAL lock_timeout = ${whole(limits.lockTimeoutMs)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${whole(limits.idleTimeoutMs)}`,
  ].join('; ');
}

function pgTransaction(sql: Sql, inProgress: () => boolean): PgTransaction {
  return {
    query: async (text, values) => {
      if (typeof text !== 'string') throw new TypeError('tx.query takes the SQL text and the values');
      if (!inProgress()) throw new Error('the transaction of this attempt is over: await every query before returning');
      if (endsTransaction(text)) {
        throw new OnefoldError(
          'transaction_split',
          'an effect must not begin or end a transaction: claim, write and completion commit together',
        );
      }
      return sql(text, values);
    },
  };
}

type Run = <Row>(client: pg.PoolClient, text: string, values?: readonly unknown[]) => Promise<SqlResult<Row>>;

const runText: Run = async <Row>(client: pg.PoolClient, text: string, values?: readonly unknown[]) => {
  const { rows, rowCount } = await client.query(text, values ? [...values] : undefined);
  return { rows: rows as Row[], rowCount: rowCount ?? 0 };
};

/** For the ledger's statements, which are few and fixed; an effect's are neither, and each would stay prepared. */
const runPrepared: Run = async <Row>(client: pg.PoolClient, text: string, values?: readonly unknown[]) => {
  if (!values) return runText<Row>(client, text);
  const { rows, rowCount } = await client.query({ name: statementName(text), text, values: [...values] });
  return { rows: rows as Row[], rowCount: rowCount ?? 0 };
};

const statementNames = new Map<string, string>();

function statementName(text: string): string {
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  const name = `onefold_${sha256(text).slice(0, 24)}`;
  statementNames.set(text, name);
  return name;
}

function destroy(client: pg.PoolClient): void {
  // `pg` has no public way to drop a connection in mid-query; the socket is where every version of it keeps one.
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}

function isConnectionLoss(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && (/^(08|57P0)/.test(code) || code.startsWith('E') || code === '25P03')) return true;
  return typeof message === 'string' && /Connection terminated|connection.*(closed|lost)|not queryable/i.test(message);
}
