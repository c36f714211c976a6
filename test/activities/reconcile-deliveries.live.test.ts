import { randomUUID } from 'node:crypto';
import { ApplicationFailure, Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { RetryState } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import type { ActivityDependencies } from '../../src/activities/dependencies.js';
import { reconcileDeliveries } from '../../src/activities/reconcile-deliveries.js';
import { publicationKey } from '../../src/identity/publication-identity.js';
import { readSweepPlace } from '../../src/ledger/sweep-place.js';
import { createMetrics, type Metrics } from '../../src/runtime/metrics.js';
import { sha256 } from '../../src/runtime/sha256.js';
import type { DeliveryRef } from '../../src/workflows/delivery-contract.js';
import { createSendStage, type SendStage } from '../ledger/sends/support/send-stage.js';

let stage: SendStage;
let connection: Connection;
let client: Client;
let endpoint: string;
let metrics: Metrics;
let lines: { msg: string; [field: string]: unknown }[];
beforeAll(async () => {
  stage = await createSendStage();
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = new Client({ connection });
});
afterAll(async () => {
  await connection?.close();
  await stage?.close();
});
beforeEach(async () => {
  await stage.sql(`DELETE FROM onefold.publication_deliveries`);
  await stage.sql('DELETE FROM onefold.sweeps');
  endpoint = await stage.endpoint();
  metrics = createMetrics();
  lines = [];
});

function reconcile(through: Client = client) {
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const deps: Partial<ActivityDependencies> = { ledger: stage.ledger, metrics, client: through, log };
  return new MockActivityEnvironment().run(() => reconcileDeliveries(deps as ActivityDependencies));
}

/** A delivery that was started so long ago, with so many attempts. */
async function started(attempts = 0, ago = '2 hours'): Promise<DeliveryRef> {
  const ref = await stage.delivery(endpoint);
  await stage.sql(
    `UPDATE onefold.publication_deliveries SET attempts = $2, started_at = clock_timestamp() - $3::interval
     WHERE publication = $1`,
    [ref.publication, attempts, ago],
  );
  return ref;
}

const workflowOf = (ref: DeliveryRef) =>
  client.workflow.start('deliverPublication', {
    workflowId: publicationKey(ref, sha256),
    taskQueue: `nobody-${randomUUID()}`,
  });

/** Temporal with a closed run, of which this is the end. */
function closedAs(status: string, result: () => Promise<unknown>): Client {
  const handle = { describe: async () => ({ status: { name: status }, workflowId: 'w', runId: 'run-1' }), result };
  return { workflow: { getHandle: () => handle } } as unknown as Client;
}

const deadLetters = async (code: string) =>
  (await metrics.deadLetters.get()).values.find(({ labels }) => labels.code === code)?.value;

test('a delivery whose workflow is not known goes back to the queue where nothing was sent', async () => {
  const ref = await started();
  await stage.sql(`UPDATE onefold.publication_deliveries SET relay_until = clock_timestamp() + interval '1 day'`);
  expect(await reconcile()).toEqual({ looked: 1, deadLettered: 0, failed: 0 });
  const { delivery, letters } = await stage.look(ref);
  expect(delivery).toMatchObject({ state: 'queued', started_at: null });
  expect(delivery.relay_until).toBe(Number.NEGATIVE_INFINITY);
  expect(letters).toEqual([]);
  expect(lines.map(({ msg }) => msg)).toEqual(['delivery.requeued', 'delivery.reconciled']);
});

test('a delivery whose workflow is not known ends as delivery_lost where something was sent, once', async () => {
  const ref = await started(2);
  expect(await reconcile()).toEqual({ looked: 1, deadLettered: 1, failed: 0 });
  expect(await reconcile()).toEqual({ looked: 0, deadLettered: 0, failed: 0 });
  const { delivery, letters } = await stage.look(ref);
  expect(delivery).toMatchObject({ state: 'dead_lettered', last_code: 'delivery_lost' });
  expect(letters).toMatchObject([{ code: 'delivery_lost', occurrences: 1, closed_at: null }]);
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'delivery.failed', code: 'delivery_lost' }));
  expect(await deadLetters('delivery_lost')).toBe(1);
});

test('a delivery whose workflow runs, and one that was started within the hour, are left alone', async () => {
  const running = await started(1);
  await workflowOf(running);
  const young = await started(0, '50 minutes');
  expect(await reconcile()).toEqual({ looked: 1, deadLettered: 0, failed: 0 });
  for (const ref of [running, young]) expect((await stage.look(ref)).delivery.state).toBe('started');
});

test('a delivery whose run was terminated long before any sweep ends as a dead letter', async () => {
  const ref = await started(1);
  const handle = await workflowOf(ref);
  await handle.terminate('an operator');
  expect(await reconcile()).toMatchObject({ deadLettered: 1 });
  expect((await stage.look(ref)).letters).toMatchObject([{ code: 'terminated', runs: [handle.firstExecutionRunId] }]);
});

test('a delivery whose run failed without a record ends with the code of its failure', async () => {
  const ref = await started(1);
  const failure = ApplicationFailure.create({ type: 'http_500', message: 'status 500' });
  const failed = closedAs('FAILED', async () => {
    throw new WorkflowFailedError('failed', failure, RetryState.NON_RETRYABLE_FAILURE);
  });
  expect(await reconcile(failed)).toMatchObject({ deadLettered: 1 });
  expect((await stage.look(ref)).letters).toMatchObject([{ code: 'http_500', message: 'status 500' }]);
});

test('a delivery whose run completed as delivered stays, with a warning', async () => {
  const ref = await started(1);
  expect(await reconcile(closedAs('COMPLETED', async () => ({ outcome: 'delivered' })))).toMatchObject({
    deadLettered: 0,
  });
  expect(await stage.look(ref)).toMatchObject({ delivery: { state: 'started' }, letters: [] });
  expect(lines).toMatchObject([{ msg: 'delivery.unrecorded', publication: ref.publication }]);
});

test('a delivery whose run completed as abandoned ends so', async () => {
  const ref = await started(1);
  const abandoned = { by: 'bob', reason: 'a duplicate' };
  await reconcile(closedAs('COMPLETED', async () => ({ outcome: 'abandoned', abandoned })));
  expect((await stage.look(ref)).delivery).toMatchObject({ state: 'abandoned', abandoned_by: 'bob' });
});

test('a delivery that cannot be looked at keeps the others from nothing', async () => {
  await started();
  const broken = Object.create(client, {
    workflow: {
      value: { getHandle: () => ({ describe: () => Promise.reject(new Error('Temporal is away')) }) },
    },
  }) as Client;
  expect(await reconcile(broken)).toEqual({ looked: 1, deadLettered: 0, failed: 1 });
  expect(await reconcile()).toMatchObject({ failed: 0 });
  expect(lines.map(({ msg }) => msg)).toContain('delivery.requeued');
});

test('a sweep that dies in its round is followed by one that goes on behind its last page', async () => {
  await stage.sql(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state, started_at)
     SELECT '', 'bulk:' || lpad(nth::text, 4, '0'), $1, 'started', now() - interval '1 day'
     FROM generate_series(1, 450) nth`,
    [endpoint],
  );
  const described: string[] = [];
  const running = (limit: number) =>
    ({
      workflow: {
        getHandle: (id: string) => ({
          describe: async () => {
            if (described.push(id) > limit) environment.cancel();
            return { status: { name: 'RUNNING' } };
          },
        }),
      },
    }) as unknown as Client;
  const environment = new MockActivityEnvironment();
  const log = pino({ level: 'silent' });
  const deps = { ledger: stage.ledger, metrics, client: running(250), log } as unknown as ActivityDependencies;
  await expect(environment.run(() => reconcileDeliveries(deps))).rejects.toThrow();
  const { query } = stage.ledger.database;
  expect(await readSweepPlace(query, stage.ledger.schema, 'started_deliveries')).toContain('bulk:0200');
  expect(await reconcile(running(Number.POSITIVE_INFINITY))).toMatchObject({ looked: 250 });
  expect(new Set(described).size).toBe(450);
  expect(await readSweepPlace(query, stage.ledger.schema, 'started_deliveries')).toBeUndefined();
});
