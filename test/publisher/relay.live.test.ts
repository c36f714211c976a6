import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { takeQueued } from '../../src/ledger/publications/take-queued.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import { publish, publishIn } from '../../src/publisher/publish.js';
import { createRelayWaits } from '../../src/publisher/relay-waits.js';
import { startTaken } from '../../src/publisher/start-taken.js';
import { deliverPublicationName, deliveryTaskQueue } from '../../src/workflows/delivery-contract.js';
import { until } from '../hazards/support/until.js';
import { startProxy } from '../receiver/support/switchable-proxy.js';
import { createOutboxStage, type OutboxStage } from './support/outbox-stage.js';

let stage: OutboxStage;
beforeEach(async () => {
  stage = await createOutboxStage();
});
afterEach(() => stage?.close());

const note = (tenant = '') => ({ publication: randomUUID(), type: 'order.note', data: { n: 1 }, tenant });

async function states(): Promise<Record<string, number>> {
  const rows = await stage.sql<{ state: string; n: number }>(
    'SELECT state, count(*)::int AS n FROM onefold.publication_deliveries GROUP BY state',
  );
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
}
const allStarted = (count: number) => until(`${count} started`, async () => (await states()).started === count, 30_000);
const found = (count: number) =>
  until(`${count} workflows`, async () => {
    const ids = await stage.started();
    return ids.length >= count && ids;
  });

/** Queues deliveries without publishing each by itself. */
async function flood(endpoint: string, count: number): Promise<void> {
  await stage.sql(
    `WITH p AS (
       INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body)
       SELECT '', $1 || '-' || n, 'msg_' || $1 || n, 'order.note', '', '{}' FROM generate_series(1, $2::int) n
       RETURNING publication
     )
     INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint) SELECT '', publication, $1 FROM p`,
    [endpoint, count],
  );
}

test('what is published is started once per endpoint, with all that its workflow needs', async () => {
  await stage.endpoint('ep_one', { tenant: 'acme' });
  await stage.endpoint('ep_two', { tenant: 'acme' });
  await stage.sql(`UPDATE onefold.endpoints SET timeout_ms = 7000, pauses_ms = '{1000,2000}' WHERE id = 'ep_two'`);
  stage.relay();
  const message = { publication: 'order:42:v1', type: 'order.confirmed', data: { order: '42' }, tenant: 'acme' };
  const published = await publish(stage.deps, message);
  await allStarted(2);
  expect(await found(2)).toEqual(['publication/acme/ep_one/order:42:v1', 'publication/acme/ep_two/order:42:v1']);
  expect(stage.lines.filter(({ msg }) => msg === 'delivery.started')).toContainEqual({
    level: 'info',
    time: expect.any(Number),
    msg: 'delivery.started',
    deliveryKey: 'publication/acme/ep_two/order:42:v1',
    publication: 'order:42:v1',
    endpoint: 'ep_two',
    eventId: published.eventId,
    type: 'order.confirmed',
  });
  const handle = stage.client.workflow.getHandle('publication/acme/ep_two/order:42:v1');
  const described = await handle.describe();
  expect(described).toMatchObject({ type: deliverPublicationName, taskQueue: deliveryTaskQueue(stage.taskQueue) });
  expect(described.memo).toMatchObject({ publication: 'order:42:v1', endpoint: 'ep_two', eventId: published.eventId });
  const { events } = await handle.fetchHistory();
  const payload = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  expect(JSON.parse(Buffer.from(payload ?? []).toString())).toEqual({
    version: 1,
    tenant: 'acme',
    endpoint: 'ep_two',
    publication: 'order:42:v1',
    eventId: published.eventId,
    type: 'order.confirmed',
    publishedAt: published.publishedAt.toISOString(),
    // The endpoint's own before the type's, and the type's before the default.
    policy: { pausesMs: [1000, 2000], maximumElapsedMs: 3_600_000, timeoutMs: 7000 },
    searchAttributes: expect.arrayContaining(['OnefoldType', 'OnefoldEndpoint']),
  });
});

test('a notification wakes the relay long before it would have polled', async () => {
  await stage.endpoint('ep_one');
  const times: number[] = [];
  stage.relay({ onStep: (step) => void (step === 'after_take' && times.push(performance.now())) });
  await until('the relay to listen', async () => {
    const rows = await stage.sql("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
    return rows.length > 0;
  });
  await sleep(300);
  const delays: number[] = [];
  for (let n = 0; n < 5; n++) {
    const began = performance.now();
    await publish(stage.deps, note());
    delays.push((await until('the take', () => times[n])) - began);
    await sleep(200);
  }
  expect(delays.sort((one, other) => one - other)[2]).toBeLessThan(200);
});

test('a database that cannot listen is polled', async () => {
  await stage.endpoint('ep_one');
  const { listen: _, ...database } = stage.ledger.database;
  stage.relay({ ledger: { ...stage.ledger, database } });
  await publish(stage.deps, note());
  await allStarted(1);
});

test('a flooded endpoint does not delay the others', async () => {
  for (const id of ['ep_flood', 'ep_zz_quiet']) await stage.endpoint(id, { types: ['user.*'] });
  await flood('ep_flood', 5_000);
  await flood('ep_zz_quiet', 3);
  const order: string[] = [];
  const { client } = stage;
  const counting = Object.create(client, {
    workflow: {
      value: Object.create(client.workflow, {
        start: {
          value: (name: string, options: { workflowId: string }) => {
            order.push(options.workflowId.split('/')[2] as string);
            return client.workflow.start(name, options as never);
          },
        },
      }),
    },
  }) as Client;
  const running = stage.relay({ client: counting });
  await until('the quiet ones', () => order.filter((id) => id === 'ep_zz_quiet').length === 3);
  await running.stop();
  // One turn takes at most 100 of the flood before the other queue has its turn.
  expect(order.indexOf('ep_zz_quiet')).toBeLessThanOrEqual(100);
});

test('a relay runs thrice its concurrency ahead of an endpoint, and goes on as deliveries are attempted', async () => {
  await stage.endpoint('ep_slow');
  await stage.sql('UPDATE onefold.endpoints SET concurrency = 20');
  await flood('ep_slow', 100);
  stage.relay();
  await allStarted(60);
  await sleep(1_500);
  expect(await states()).toEqual({ started: 60, queued: 40 });
  await stage.sql(
    `UPDATE onefold.publication_deliveries SET attempts = 1
     WHERE (tenant, publication, endpoint) IN (
       SELECT tenant, publication, endpoint FROM onefold.publication_deliveries WHERE state = 'started' LIMIT 30)`,
  );
  await allStarted(90);
  await sleep(1_500);
  expect(await states()).toEqual({ started: 90, queued: 10 });
});

test('four relays side by side start each delivery once', async () => {
  for (let n = 0; n < 4; n++) await stage.endpoint(`ep_${n}`);
  const starts: string[] = [];
  for (let n = 0; n < 4; n++) {
    stage.relay({
      metrics: {
        relayStarts: { inc: ({ outcome }) => void starts.push(outcome) },
        relayDelaySeconds: { observe: () => {} },
        endpointsDisabled: { inc: () => {} },
      },
    });
  }
  await Promise.all(Array.from({ length: 60 }, () => publish(stage.deps, note())));
  await allStarted(240);
  expect(await found(240)).toHaveLength(240);
  // Nobody took what another had: the leases did their part, and uniqueness was not even needed.
  expect(starts).toEqual(Array.from({ length: 240 }, () => 'started'));
});

test('a row whose transaction commits long after later ones is found', async () => {
  await stage.endpoint('ep_one');
  stage.relay();
  const limits = { statementTimeoutMs: 10_000, lockTimeoutMs: 10_000, idleTimeoutMs: 10_000 };
  await stage.ledger.database.transaction(async (tx) => {
    await publishIn(stage.deps, tx, note());
    await publish(stage.deps, note());
    await publish(stage.deps, note());
    await allStarted(2);
  }, limits);
  await allStarted(3);
});

test('what ended is never started again, whatever Temporal has forgotten', async () => {
  await stage.endpoint('ep_one');
  for (let n = 0; n < 3; n++) await publish(stage.deps, note());
  const ends = ['delivered', 'dead_lettered', 'abandoned'];
  const rows = await stage.sql<{ publication: string }>('SELECT publication FROM onefold.publication_deliveries');
  for (const [nth, { publication }] of rows.entries()) {
    await stage.sql('UPDATE onefold.publication_deliveries SET state = $2 WHERE publication = $1', [
      publication,
      ends[nth],
    ]);
  }
  const running = stage.relay();
  await until('ready', () => stage.lines.some(({ msg }) => msg === 'relay.ready'));
  await publish(stage.deps, note());
  await allStarted(1);
  await sleep(1_200);
  await running.stop();
  expect(await found(1)).toHaveLength(1);
  expect(await states()).toEqual({ delivered: 1, dead_lettered: 1, abandoned: 1, started: 1 });
});

test.each(['runs', 'has ended'])('a delivery whose workflow %s is marked, and no second run begins', async (stands) => {
  await stage.endpoint('ep_one');
  const message = note();
  await publish(stage.deps, message);
  const first = stage.relay();
  await allStarted(1);
  await first.stop();
  const handle = stage.client.workflow.getHandle(`publication//ep_one/${message.publication}`);
  if (stands === 'has ended') await handle.terminate();
  // A relay that died before it marked, and whose lease is over, leaves just this.
  await stage.sql(
    `UPDATE onefold.publication_deliveries SET state = 'queued', started_at = NULL, relay_until = '-infinity'`,
  );
  const outcomes: string[] = [];
  stage.relay({
    metrics: {
      relayStarts: { inc: ({ outcome }) => void outcomes.push(outcome) },
      relayDelaySeconds: { observe: () => {} },
      endpointsDisabled: { inc: () => {} },
    },
  });
  await allStarted(1);
  expect(outcomes).toEqual(['already_started']);
  expect(await found(1)).toHaveLength(1);
  expect((await handle.describe()).status.name).toBe(stands === 'runs' ? 'RUNNING' : 'TERMINATED');
});

test('a delivery that ended before it was marked keeps its end', async () => {
  await stage.endpoint('ep_one');
  await publish(stage.deps, note());
  const running = stage.relay({
    onStep: async (step) => {
      if (step === 'before_mark') await stage.sql(`UPDATE onefold.publication_deliveries SET state = 'delivered'`);
    },
  });
  await until('the mark', () => stage.lines.some(({ msg }) => msg === 'relay.marked'));
  await running.stop();
  expect(await states()).toEqual({ delivered: 1 });
});

test('while Temporal is away the rows stay queued, and go when it is back', async () => {
  const proxy = await startProxy(inject('temporalAddress'));
  const connection = Connection.lazy({ address: proxy.address });
  const client = new Client({ connection });
  try {
    await stage.endpoint('ep_one');
    stage.relay({ client });
    await publish(stage.deps, note());
    await allStarted(1);
    await proxy.become('refuse');
    for (let n = 0; n < 20; n++) await publish(stage.deps, note());
    await until('it to notice', () => stage.lines.some(({ msg }) => msg === 'relay.waiting'), 60_000);
    expect(stage.lines.find(({ msg }) => msg === 'relay.start_failed')).toMatchObject({
      level: 'warn',
      code: 'temporal_unavailable',
      endpoint: 'ep_one',
      publication: expect.any(String),
    });
    expect(await states()).toEqual({ started: 1, queued: 20 });
    await sleep(3_000);
    await proxy.become('up');
    await allStarted(21);
    expect(await found(21)).toHaveLength(21);
    expect(stage.lines.filter(({ msg }) => msg === 'relay.waiting')).toHaveLength(1);
  } finally {
    await connection.close();
    await proxy.close();
  }
});

test('while PostgreSQL is away the relay waits, and listens again when it is back', async () => {
  const target = new URL(stage.databaseUrl);
  const proxy = await startProxy(`${target.hostname}:${target.port}`);
  target.hostname = '127.0.0.1';
  target.port = proxy.address.split(':')[1] as string;
  const database = pgDatabase({ connectionString: target.href, connectTimeoutMs: 500 });
  try {
    await stage.endpoint('ep_one');
    const running = stage.relay({ ledger: { ...stage.ledger, database } });
    await publish(stage.deps, note());
    await allStarted(1);
    await proxy.become('refuse');
    await publish(stage.deps, note());
    const waiting = await until('it to notice', () => stage.lines.find(({ msg }) => msg === 'relay.waiting'));
    expect(waiting).toMatchObject({ level: 'warn', server: 'postgres' });
    await proxy.become('up');
    await allStarted(2);
    await until('it to listen', async () => {
      const rows = await stage.sql("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
      return rows.length > 0;
    });
    await running.stop();
  } finally {
    await database.close();
    await proxy.close();
  }
});

test('a delivery that cannot be started at all stops no other', async () => {
  await stage.endpoint('ep_one');
  await stage.sql(
    `WITH p AS (INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body)
       VALUES ('', 'by-hand', 'e', 'order.note', '', '{}'))
     INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint) VALUES ('', 'by-hand', ' ')`,
  );
  stage.relay();
  await publish(stage.deps, note());
  await allStarted(1);
  expect(await until('its line', () => stage.lines.find(({ msg }) => msg === 'relay.start_failed'))).toMatchObject({
    code: 'start_refused',
    publication: 'by-hand',
  });
  await sleep(1_500);
  // It keeps its lease instead of being tried in every turn.
  expect(stage.lines.filter(({ msg }) => msg === 'relay.start_failed')).toHaveLength(1);
});

test('a codec server that is down stops the queue instead of running through it, and loses nothing', async () => {
  for (const id of ['ep_one', 'ep_two', 'ep_three']) await stage.endpoint(id);
  let tries = 0;
  let down = true;
  const { client } = stage;
  const codec = Object.create(client, {
    workflow: {
      value: Object.create(client.workflow, {
        start: {
          value: async (name: string, options: never) => {
            tries += 1;
            // What a codec throws is no answer of Temporal's.
            if (down) throw new TypeError('fetch failed');
            return client.workflow.start(name, options);
          },
        },
      }),
    },
  }) as Client;
  for (let n = 0; n < 20; n++) await publish(stage.deps, note());
  stage.relay({ client: codec });
  await until('it to notice', () => stage.lines.some(({ msg }) => msg === 'relay.waiting'));
  await sleep(1_000);
  // One turn's worth of starts at once, then one at a time.
  expect(tries).toBeLessThan(40);
  expect(stage.lines.find(({ msg }) => msg === 'relay.start_failed')).toMatchObject({ code: 'temporal_unavailable' });
  expect(await states()).toEqual({ queued: 60 });
  down = false;
  await allStarted(60);
});

test('search attributes that are not registered any more cost no delivery', async () => {
  await stage.endpoint('ep_one');
  const { client } = stage;
  const named: number[] = [];
  const refusing = Object.create(client, {
    workflow: {
      value: Object.create(client.workflow, {
        start: {
          value: (name: string, options: { typedSearchAttributes: unknown[] }) => {
            named.push(options.typedSearchAttributes.length);
            const more = options.typedSearchAttributes.length > 0 ? { searchAttributes: { Unheard: ['x'] } } : {};
            const { typedSearchAttributes, ...rest } = options;
            return client.workflow.start(name, { ...rest, ...more } as never);
          },
        },
      }),
    },
  }) as Client;
  stage.relay({ client: refusing });
  await publish(stage.deps, note());
  await allStarted(1);
  expect(named).toEqual([2, 0]);
});

test('a relay that stood still for longer than its lease starts nothing of what it took, and touches no row', async () => {
  await stage.endpoint('ep_one');
  await publish(stage.deps, note());
  const { query } = stage.ledger.database;
  const take = { after: undefined, limit: 10, queues: 10, perQueue: 10, window: 200, leaseMs: 30_000 };
  const { deliveries } = await takeQueued(query, stage.ledger.schema, take);
  expect(deliveries).toHaveLength(1);
  const before = await stage.sql('SELECT * FROM onefold.publication_deliveries');
  const log = pino({ level: 'silent' });
  const { signal } = new AbortController();
  await startTaken(
    {
      ledger: stage.ledger,
      client: stage.client,
      taskQueue: stage.taskQueue,
      log,
      attributes: { current: async () => new Set(), distrust: () => {} },
      waits: createRelayWaits(log, signal),
      signal,
    },
    deliveries,
    Date.now() - 31_000,
  );
  expect(await stage.sql('SELECT * FROM onefold.publication_deliveries')).toEqual(before);
  expect(await stage.started()).toEqual([]);
});

test('a stopping relay lets its starts end, marks them, and gives the rest back', async () => {
  await stage.endpoint('ep_one');
  for (let n = 0; n < 60; n++) await publish(stage.deps, note());
  let started = 0;
  const running = stage.relay({
    onStep: (step) => {
      if (step !== 'after_start') return;
      started += 1;
      if (started === 5) running.relay.shutdown();
    },
  });
  await running.ended;
  const after = await states();
  expect(after.started).toBe(started);
  expect(after).toEqual({ started, queued: 60 - started });
  expect(started).toBeLessThan(40);
  const [{ leased }] = (await stage.sql(
    'SELECT count(*)::int AS leased FROM onefold.publication_deliveries WHERE state = $1 AND relay_until > clock_timestamp()',
    ['queued'],
  )) as [{ leased: number }];
  expect(leased).toBe(0);
  expect(await found(started)).toHaveLength(started);
  expect(stage.lines.at(-1)).toMatchObject({ msg: 'relay.stopped' });
});

test('extras run beside the relaying, at most once a second, and their failures are told', async () => {
  await stage.endpoint('ep_one');
  let calls = 0;
  let hanging = 0;
  stage.relay({
    extras: [
      async () => {
        calls += 1;
      },
      async () => {
        throw new Error('cannot tell');
      },
      (signal) => {
        hanging += 1;
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    ],
  });
  for (let n = 0; n < 10; n++) await publish(stage.deps, note());
  await allStarted(10);
  expect(calls).toBe(1);
  await sleep(2_200);
  expect(calls).toBeGreaterThan(1);
  expect(calls).toBeLessThan(6);
  expect(hanging).toBe(1);
  expect(stage.lines.find(({ msg }) => msg === 'relay.extra_failed')).toMatchObject({ reason: 'cannot tell' });
});

test('a ledger without publications is said at once', async () => {
  const running = stage.relay({ ledger: { ...stage.ledger, schema: schemaName('nowhere') } });
  await expect(running.ended).rejects.toMatchObject({ code: 'migration_missing' });
  await running.stop().catch(() => {});
});
