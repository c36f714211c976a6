import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.js';
import { createOutboxAge } from '../../src/publisher/measure-outbox-age.js';
import { createMetrics } from '../../src/runtime/metrics.js';
import { until } from '../hazards/support/until.js';
import { createOutboxStage, type OutboxStage } from './support/outbox-stage.js';

let stage: OutboxStage;
beforeEach(async () => {
  stage = await createOutboxStage();
});
afterEach(() => stage?.close());

/** A delivery in this state since so long ago. */
async function delivery(endpoint: string, publication: string, state: string, ago: string): Promise<void> {
  await stage.sql(
    `WITH p AS (INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body)
       VALUES ('', $2, 'msg_' || $2, 'order.note', '', '{}'))
     INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state, queued_at)
     VALUES ('', $2, $1, $3, clock_timestamp() - $4::interval)`,
    [endpoint, publication, state, ago],
  );
}

/** Temporal that is away, so that a relay starts nothing. */
const away = { workflow: {}, withDeadline: () => Promise.reject(new Error('away')) } as unknown as Client;

async function shown(metrics: ReturnType<typeof createMetrics>): Promise<number | undefined> {
  return (await metrics.outboxAge.get()).values[0]?.value;
}

test('the age of the oldest delivery that waits for a relay is shown while a relay runs, and by no other process', async () => {
  await stage.endpoint('ep_one');
  await stage.endpoint('ep_behind');
  await delivery('ep_one', 'younger', 'queued', '3 minutes');
  await delivery('ep_one', 'oldest', 'queued', '10 minutes');
  await delivery('ep_one', 'started', 'started', '1 hour');
  // An endpoint that is behind: its deliveries wait for it, and not for a relay.
  await stage.sql(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state)
     SELECT '', 'ahead-' || nth, 'ep_behind', 'started' FROM generate_series(1, 200) nth`,
  );
  await delivery('ep_behind', 'held', 'queued', '1 day');
  const metrics = createMetrics();
  expect(await shown(metrics)).toBeUndefined();
  const running = stage.relay({ client: away, metrics });
  const age = await until('the age', () => shown(metrics));
  expect(age).toBeGreaterThanOrEqual(600);
  expect(age).toBeLessThan(660);
  await running.stop();
  expect(await shown(metrics)).toBeUndefined();
});

test('it is 0 where nothing waits, measured every five seconds at most, and absent where the ledger is away', async () => {
  const metrics = createMetrics();
  let asked = 0;
  let gone = false;
  const query: Ledger['database']['query'] = (text, values) => {
    asked += 1;
    return gone ? Promise.reject(new Error('away')) : stage.ledger.database.query(text, values);
  };
  const ledger: Ledger = { ...stage.ledger, database: { ...stage.ledger.database, query } };
  const measure = createOutboxAge(ledger, metrics.outboxAge);
  await measure();
  await measure();
  expect(asked).toBe(1);
  expect(await shown(metrics)).toBe(0);
  gone = true;
  await sleep(5_050);
  await measure();
  expect(asked).toBe(2);
  expect(await shown(metrics)).toBeUndefined();
});
