import { randomUUID } from 'node:crypto';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { markStarted } from '../../src/ledger/publications/mark-started.js';
import { takeQueued } from '../../src/ledger/publications/take-queued.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import { beginSend } from '../../src/ledger/sends/begin-send.js';
import { endSend } from '../../src/ledger/sends/end-send.js';
import { createOnefold } from '../../src/onefold.js';
import { publications } from '../../src/publisher/publications.js';
import { createLogger } from '../../src/runtime/logger.js';
import { types } from '../../src/sources/types.js';
import { percentile } from '../statistics.js';
import { secretsKeys } from './start-sender.js';

/** What one statement takes, ms. */
export interface StatementTimes {
  readonly statement: string;
  readonly p50: number;
  readonly p95: number;
}

const statements = ['publish', 'takeQueued, of 100', 'markStarted, of 100', 'beginSend', 'endSend'] as const;

/** Deliveries that are carried statement by statement; the first hundred do not count. */
const deliveries = 500;
const batch = 100;
const tenant = 'statements';

/**
 * Times the statements of a delivery one after the other on one connection, while no system runs: round trip and all.
 */
export async function timeStatements(databaseUrl: string): Promise<readonly StatementTimes[]> {
  const database = pgDatabase({ connectionString: databaseUrl, max: 1 });
  const schema = schemaName('onefold');
  process.env.ONEFOLD_SECRETS_KEYS = secretsKeys;
  const onefold = createOnefold({
    sources: [],
    effects: [],
    publications: publications({ events: { 'order.shipped': types<{ order: string }>() } }),
    egress: { allow: ['127.0.0.1'], tenants: true },
    database,
    logger: createLogger({ level: 'silent' }),
  });
  const taken: Record<(typeof statements)[number], number[]> = {
    publish: [],
    'takeQueued, of 100': [],
    'markStarted, of 100': [],
    beginSend: [],
    endSend: [],
  };
  const timed = async <Result>(statement: (typeof statements)[number], run: () => Promise<Result>): Promise<Result> => {
    const began = performance.now();
    const result = await run();
    taken[statement].push(performance.now() - began);
    return result;
  };
  try {
    await onefold.tenant(tenant).endpoints.create({ url: 'http://127.0.0.1:9/hook', types: ['*'] });
    for (let n = 0; n < deliveries; n++) {
      const publication = `order:${randomUUID()}:v1`;
      await timed('publish', () =>
        onefold.publish({ tenant, publication, type: 'order.shipped', data: { order: publication } }),
      );
    }
    for (let begun = 0; begun < deliveries; begun += batch) {
      const { deliveries: found } = await timed('takeQueued, of 100', () =>
        takeQueued(database.query, schema, {
          after: undefined,
          limit: batch,
          queues: 200,
          perQueue: batch,
          window: 200,
          leaseMs: 30_000,
        }),
      );
      await timed('markStarted, of 100', () => markStarted(database.query, schema, found));
      for (const delivery of found) {
        const attemptId = randomUUID();
        const sent = await timed('beginSend', () =>
          beginSend(database.query, schema, {
            ...delivery,
            attemptId,
            runId: attemptId,
            attempt: 1,
            leaseMarginMs: 10_000,
            defaultTimeoutMs: 15_000,
          }),
        );
        if (sent.kind !== 'begun') continue;
        await timed('endSend', () =>
          endSend(database.query, schema, {
            ...delivery,
            attemptId,
            version: sent.version,
            ended: 'delivered',
            code: null,
            status: 200,
            durationMs: 5,
            response: { bytes: 2, digest: 'sha256', text: 'ok' },
          }),
        );
      }
    }
  } finally {
    await onefold.close();
    await database.close();
  }
  return statements.map((statement) => {
    const times = taken[statement].slice(taken[statement].length > 2 * batch ? batch : 1);
    return { statement, p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
  });
}
