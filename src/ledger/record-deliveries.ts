import type { Logger } from '../runtime/logger.js';
import type { Metrics } from '../runtime/metrics.js';
import { within } from '../runtime/within.js';
import type { Ledger } from './ledger.js';
import type { SchemaName } from './schema-name.js';

/** The evidence of one delivery. */
export interface DeliveryRow {
  readonly tenant: string;
  readonly source: string;
  /** Null where the request was refused before it had one. */
  readonly eventKey: string | null;
  readonly path: string | null;
  /** Stable code of a refusal. */
  readonly code: string | null;
  readonly status: number;
  readonly digest: string | null;
  readonly bodyDiffers: boolean;
  readonly receivedAt: Date;
  /** The act by which a person handed it in, without a signature; absent where it came signed. */
  readonly act?: string;
}

/**
 * Writes evidence in batches, off the answers' path. A batch whose COMMIT was carried out but not heard of in time is
 * written again, so its rows may stand twice: of a delivery there is at least one row, unless it was counted as lost.
 */
export interface DeliveryRecorder {
  /** Takes a row; never waits, never throws. */
  record(row: DeliveryRow): void;
  /** Resolves when every row taken so far is written or counted as lost, or after 5 seconds. */
  flush(): Promise<void>;
  /** Flushes; what is not written then, and whatever comes later, is counted as lost. */
  close(): Promise<void>;
}

/** Rows of one INSERT. */
const batchRows = 500;
/** The longest that a row waits for company, ms. */
const batchDelayMs = 200;
/** Rows held in memory while PostgreSQL is slow or away; beyond it evidence is lost, never an answer. */
const bufferRows = 10_000;
/** Rows kept per event: a flood on one identity must not grow the table. */
const rowsPerEvent = 1_000;
/** Rows per minute and source for refusals without an event, which anybody can cause. */
const anonymousRowsPerMinute = 100;
/** The same per hour: a slow flood must not grow the table either. How many there were is counted elsewhere. */
const anonymousRowsPerHour = 1_000;
/** Pauses before the further tries of a batch, ms; after them it is dropped. */
const retryPausesMs = [100, 500, 2_000];
/** One try of a batch, ms: a database that accepts and never answers must not hold a connection for ever. */
const batchTimeoutMs = 3_000;
/** A process that goes does not wait longer for its evidence, ms. */
const flushLimitMs = 5_000;

/** What the recorder needs. */
export interface DeliveryRecorderDependencies {
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Makes a recorder. It opens nothing and starts no timer before the first row. */
export function createDeliveryRecorder(deps: DeliveryRecorderDependencies): DeliveryRecorder {
  const { ledger, metrics, log } = deps;
  let buffer: DeliveryRow[] = [];
  let timer: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;
  let closed = false;
  let abandoned = false;
  let writing = 0;
  let lostSinceWarning = 0;
  const mayRecord = createAnonymousCap();

  const lose = (rows: number): void => {
    metrics.evidenceLost.inc(rows);
    lostSinceWarning += rows;
  };

  const writeBatch = async (rows: readonly DeliveryRow[]): Promise<void> => {
    for (let tries = 0; ; tries++) {
      try {
        await insertDeliveries(ledger, rows);
        if (lostSinceWarning > 0) log.warn({ rows: lostSinceWarning }, 'deliveries.evidence_lost');
        lostSinceWarning = 0;
        return;
      } catch (error) {
        const pauseMs = retryPausesMs[tries];
        if (abandoned) return;
        if (pauseMs === undefined || closed) {
          lose(rows.length);
          log.warn({ rows: rows.length, reason: errorName(error) }, 'deliveries.not_written');
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  };

  const drain = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (buffer.length === 0) return draining ?? Promise.resolve();
    draining ??= (async () => {
      while (buffer.length > 0) {
        const rows = buffer.slice(0, batchRows);
        buffer = buffer.slice(batchRows);
        writing = rows.length;
        await writeBatch(rows);
        writing = 0;
      }
      // In the same step as the last look at the buffer: a row that came in between would have neither loop nor timer.
      draining = undefined;
    })();
    return draining;
  };

  /** @returns Whether all is written or given up in time. */
  const flush = (): Promise<boolean> =>
    within(flushLimitMs, drain(), () => new Error('too slow')).then(
      () => true,
      () => false,
    );

  return {
    record(row) {
      if (!mayRecord(row)) return;
      if (closed || buffer.length >= bufferRows) return lose(1);
      buffer.push(row);
      if (draining) return;
      if (buffer.length >= batchRows) void drain();
      else timer ??= setTimeout(() => void drain(), batchDelayMs);
    },
    async flush() {
      await flush();
    },
    async close() {
      closed = true;
      if (await flush()) return;
      abandoned = true;
      lose(writing + buffer.length);
      buffer = [];
    },
  };
}

/** Bounds refusals without an event by minute, by hour and by source. Sources are a closed set, so the maps stay small. */
function createAnonymousCap(): (row: DeliveryRow) => boolean {
  const inMinute = createWindowCap(60_000, anonymousRowsPerMinute);
  const inHour = createWindowCap(3_600_000, anonymousRowsPerHour);
  return ({ eventKey, source }) => eventKey !== null || (inMinute(source) && inHour(source));
}

function createWindowCap(windowMs: number, limit: number): (source: string) => boolean {
  let window = -1;
  let counts = new Map<string, number>();
  return (source) => {
    const now = Math.floor(performance.now() / windowMs);
    if (now !== window) {
      window = now;
      counts = new Map();
    }
    const count = (counts.get(source) ?? 0) + 1;
    counts.set(source, count);
    return count <= limit;
  };
}

async function insertDeliveries({ database, schema }: Ledger, rows: readonly DeliveryRow[]): Promise<void> {
  const columns = [
    rows.map((row) => row.tenant),
    rows.map((row) => row.source),
    rows.map((row) => row.eventKey),
    rows.map((row) => row.path),
    rows.map((row) => row.code),
    rows.map((row) => row.status),
    rows.map((row) => row.digest),
    rows.map((row) => row.bodyDiffers),
    rows.map((row) => row.receivedAt.toISOString()),
    rows.map((row) => row.act ?? null),
  ];
  const inserted = database.transaction(
    async (_tx, sql) => {
      await sql(insertStatement(schema), [...columns, rowsPerEvent]);
    },
    {
      statementTimeoutMs: batchTimeoutMs,
      lockTimeoutMs: batchTimeoutMs,
      idleTimeoutMs: batchTimeoutMs,
      signal: AbortSignal.timeout(batchTimeoutMs),
    },
  );
  // Waiting for a connection heeds no signal.
  await within(batchTimeoutMs, inserted, () => new Error('PostgreSQL did not answer in time'));
}

/** One INSERT for all rows; each event's rows are counted once, and its rows beyond the cap left out. */
function insertStatement(schema: SchemaName): string {
  return `WITH incoming AS (
      SELECT *, row_number() OVER (PARTITION BY tenant, event_key ORDER BY position) AS nth
      FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[],
                  $8::boolean[], $9::timestamptz[], $10::text[])
        WITH ORDINALITY AS row (tenant, source, event_key, path, code, status, digest, body_differs, received_at, act,
                          position)
    ), kept AS (
      SELECT events.tenant, events.event_key, (
        SELECT count(*) FROM (
          SELECT 1 FROM ${schema}.deliveries d
          WHERE d.tenant = events.tenant AND d.event_key = events.event_key LIMIT $11
        ) counted
      ) AS rows
      FROM (SELECT DISTINCT tenant, event_key FROM incoming WHERE event_key IS NOT NULL) events
    )
    INSERT INTO ${schema}.deliveries
      (tenant, source, event_key, path, code, status, digest, body_differs, received_at, act, signed)
    SELECT i.tenant, i.source, i.event_key, i.path, i.code, i.status, i.digest, i.body_differs, i.received_at, i.act,
           i.act IS NULL
    FROM incoming i LEFT JOIN kept ON kept.tenant = i.tenant AND kept.event_key = i.event_key
    WHERE i.event_key IS NULL OR kept.rows + i.nth <= $11
    ORDER BY i.position`;
}

function errorName(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return String(code ?? name ?? 'unknown');
}
