/** What an endpoint and a publication say of a delivery's budget; null where they leave it to the next. */
export interface DeliveryBudget {
  readonly endpoint: {
    readonly timeoutMs: number | null;
    readonly pausesMs: readonly number[] | null;
    readonly elapsedMs: number | null;
  };
  readonly publication: {
    readonly retried: boolean;
    readonly pausesMs: readonly number[] | null;
    readonly elapsedMs: number | null;
  };
}

/** The columns of a budget; `float8` because libraries give wide integers as text, and every ms of 30 days is exact in it. */
export function budgetColumns(endpoint: string, publication: string): string {
  return `${endpoint}.timeout_ms::float8 AS timeout_ms, ${endpoint}.pauses_ms::float8[] AS pauses_ms,
         ${endpoint}.elapsed_ms::float8 AS elapsed_ms, ${publication}.retried,
         ${publication}.pauses_ms::float8[] AS type_pauses_ms, ${publication}.elapsed_ms::float8 AS type_elapsed_ms`;
}

/** A row with {@link budgetColumns}. */
export interface BudgetRow {
  readonly timeout_ms: number | null;
  readonly pauses_ms: readonly number[] | null;
  readonly elapsed_ms: number | null;
  readonly retried: boolean;
  readonly type_pauses_ms: readonly number[] | null;
  readonly type_elapsed_ms: number | null;
}

/** Makes the budget of its row. */
export function budgetOf(row: BudgetRow): DeliveryBudget {
  return {
    endpoint: { timeoutMs: row.timeout_ms, pausesMs: row.pauses_ms, elapsedMs: row.elapsed_ms },
    publication: { retried: row.retried, pausesMs: row.type_pauses_ms, elapsedMs: row.type_elapsed_ms },
  };
}
