/** Rows of one statement. */
export interface SqlResult<Row = Record<string, unknown>> {
  readonly rows: Row[];
  /** Rows affected, 0 where the statement has none. */
  readonly rowCount: number;
}

/** Runs one SQL statement with `$1`-style parameters. */
export type Sql = <Row = Record<string, unknown>>(text: string, values?: readonly unknown[]) => Promise<SqlResult<Row>>;

/** Bounds of one transaction, each set with SET LOCAL so that they end with it. */
export interface TransactionLimits {
  /** statement_timeout, ms. */
  readonly statementTimeoutMs: number;
  /** lock_timeout, ms. */
  readonly lockTimeoutMs: number;
  /** idle_in_transaction_session_timeout, ms: what ends the transaction of a frozen process. */
  readonly idleTimeoutMs: number;
  /** When it aborts, the connection is destroyed, not returned. */
  readonly signal?: AbortSignal;
}

/**
 * The one door to PostgreSQL. `pg` is built in (`pgDatabase`); other libraries are adapters, so that an effect is
 * written with the ORM the user has.
 */
export interface Database<Tx> {
  /**
   * Runs work in one READ COMMITTED transaction and resolves only when COMMIT answered COMMIT.
   *
   * @throws {OnefoldError} `transaction_aborted` when COMMIT answered ROLLBACK; `ledger_unavailable` when no connection
   * could be had; whatever work threw, after a rollback.
   */
  transaction<Result>(work: (tx: Tx, sql: Sql) => Promise<Result>, limits: TransactionLimits): Promise<Result>;
  /**
   * Runs one statement outside a transaction, and gives it up after a bounded time.
   *
   * @throws {OnefoldError} `ledger_unavailable` without a connection, or when no answer came in time; the statement may
   * have taken hold then.
   */
  query: Sql;
  /**
   * Raw SQL inside a transaction that the user has open: one that `transaction` gave, or one of the user's own, so that
   * `publishIn` writes beside the user's rows. Runs what it is given and nothing else: no BEGIN, no COMMIT.
   */
  sqlIn(tx: Tx): Sql;
  /**
   * Calls back whenever someone notifies the channel, until the returned function is called; reconnects by itself. Only a
   * wake-up: whoever listens polls as well. Absent where the library cannot listen.
   */
  listen?(channel: string, onNotify: () => void): Promise<() => Promise<void>>;
  /** Ends all connections; safe to call twice. */
  close(): Promise<void>;
}
