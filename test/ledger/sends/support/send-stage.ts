import { randomUUID } from 'node:crypto';
import type { Ledger } from '../../../../src/ledger/ledger.js';
import { type PgTransaction, pgDatabase } from '../../../../src/ledger/pg-database.js';
import { schemaName } from '../../../../src/ledger/schema-name.js';
import { type BeginSend, type BegunSend, beginSend } from '../../../../src/ledger/sends/begin-send.js';
import { type EndedSend, type EndSend, endSend } from '../../../../src/ledger/sends/end-send.js';
import type { DeliveryRef } from '../../../../src/workflows/delivery-contract.js';
import { createTestDatabase } from '../../../setup/database.js';

/** An endpoint to be written. */
export interface StagedEndpoint {
  readonly tenant?: string;
  readonly rateLimit?: number;
  readonly concurrency?: number;
  readonly timeoutMs?: number;
  readonly atMostOnce?: boolean;
  readonly state?: string;
  readonly types?: readonly string[];
  /** Whether the rows of its limits are written as well. Default true. */
  readonly limits?: boolean;
}

type Begun = BegunSend & { readonly kind: 'begun' };

/** A ledger with endpoints and deliveries, and nobody who sends. */
export interface SendStage {
  readonly ledger: Ledger<PgTransaction>;
  readonly url: string;
  sql<Row = Record<string, any>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** @returns Its id. */
  endpoint(options?: StagedEndpoint): Promise<string>;
  /** Publishes something that goes to one endpoint. */
  delivery(endpoint: string, options?: { readonly tenant?: string; readonly state?: string }): Promise<DeliveryRef>;
  begin(ref: DeliveryRef, options?: Partial<BeginSend>): Promise<BegunSend>;
  /** Begins an attempt, which must be possible. */
  begun(ref: DeliveryRef, options?: Partial<BeginSend>): Promise<Begun & { readonly attemptId: string }>;
  /** As if the lease of the attempt under way had just ended. */
  outlive(ref: DeliveryRef): Promise<void>;
  end(
    ref: DeliveryRef,
    attempt: { readonly attemptId: string; readonly version: number },
    how: Partial<EndSend> & Pick<EndSend, 'ended'>,
  ): Promise<EndedSend>;
  /** The rows of one delivery: itself, its attempts, its dead letters. */
  look(ref: DeliveryRef): Promise<{ delivery: any; attempts: any[]; letters: any[] }>;
  close(): Promise<void>;
}

export async function createSendStage(options: { readonly connections?: number } = {}): Promise<SendStage> {
  const database = await createTestDatabase();
  const ledger: Ledger<PgTransaction> = {
    database: pgDatabase({ connectionString: database.url, max: options.connections ?? 20 }),
    schema: schemaName('onefold'),
  };
  const sql: SendStage['sql'] = async <Row>(text: string, values?: readonly unknown[]) =>
    (await ledger.database.query<Row>(text, values)).rows;
  const stage: SendStage = {
    ledger,
    url: database.url,
    sql,
    async endpoint({ tenant = '', concurrency = 10, limits = true, ...rest } = {}) {
      const id = `ep_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
      await sql(
        `INSERT INTO onefold.endpoints (tenant, id, url, types, concurrency, rate_limit, timeout_ms, at_most_once, state)
         VALUES ($1, $2, 'https://receiver.example/', $3, $4, $5, $6, $7, $8)`,
        [
          tenant,
          id,
          rest.types ?? ['order.*'],
          concurrency,
          rest.rateLimit ?? null,
          rest.timeoutMs ?? null,
          rest.atMostOnce ?? false,
          rest.state ?? 'enabled',
        ],
      );
      if (!limits) return id;
      await sql(
        `INSERT INTO onefold.endpoint_slots (tenant, endpoint, slot) SELECT $1, $2, generate_series(1, $3::integer)`,
        [tenant, id, concurrency],
      );
      if (rest.rateLimit !== undefined) {
        await sql('INSERT INTO onefold.endpoint_pace (tenant, endpoint) VALUES ($1, $2)', [tenant, id]);
      }
      return id;
    },
    async delivery(endpoint, { tenant = '', state = 'started' } = {}) {
      const publication = `order:${randomUUID()}:v1`;
      await sql(
        `INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body)
         VALUES ($1, $2, 'msg_' || $2, 'order.confirmed', 'd', '{"type":"order.confirmed"}')`,
        [tenant, publication],
      );
      await sql(
        `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state) VALUES ($1, $2, $3, $4)`,
        [tenant, publication, endpoint, state],
      );
      return { tenant, endpoint, publication };
    },
    begin: (ref, more = {}) =>
      beginSend(ledger.database.query, ledger.schema, {
        ...ref,
        attemptId: randomUUID(),
        runId: 'run-1',
        attempt: 1,
        leaseMarginMs: 1_000,
        defaultTimeoutMs: 15_000,
        ...more,
      }),
    async begun(ref, more = {}) {
      const attemptId = more.attemptId ?? randomUUID();
      const begun = await stage.begin(ref, { ...more, attemptId });
      if (begun.kind !== 'begun') throw new Error(`expected begun, got ${JSON.stringify(begun)}`);
      return { ...begun, attemptId };
    },
    async outlive({ tenant, endpoint, publication }) {
      await sql(
        `WITH over AS (
           UPDATE onefold.publication_deliveries SET sending_until = clock_timestamp()
           WHERE tenant = $1 AND endpoint = $2 AND publication = $3 RETURNING sending
         ), slot AS (
           UPDATE onefold.endpoint_slots s SET lease_until = clock_timestamp() FROM over o WHERE s.held_by = o.sending
         )
         UPDATE onefold.publication_attempts a SET lease_until = clock_timestamp() FROM over o WHERE a.id = o.sending`,
        [tenant, endpoint, publication],
      );
    },
    end: (ref, { attemptId, version }, how) =>
      endSend(ledger.database.query, ledger.schema, {
        ...ref,
        attemptId,
        version,
        code: how.ended === 'delivered' ? null : 'http_503',
        status: how.ended === 'delivered' ? 200 : 503,
        durationMs: 12,
        ...how,
      }),
    async look({ tenant, endpoint, publication }) {
      const key = [tenant, publication, endpoint];
      const where = 'WHERE tenant = $1 AND publication = $2 AND endpoint = $3';
      const [delivery] = await sql(`SELECT * FROM onefold.publication_deliveries ${where}`, key);
      const attempts = await sql(`SELECT * FROM onefold.publication_attempts ${where} ORDER BY started_at`, key);
      const letters = await sql(
        `SELECT * FROM onefold.dead_letters WHERE tenant = $1 AND event_id = $2 AND source = $3 ORDER BY id`,
        key,
      );
      return { delivery, attempts, letters };
    },
    async close() {
      await ledger.database.close();
      await database.drop();
    },
  };
  return stage;
}
