/**
 * Records one history of each shape that an event's run can take, with real servers, into this folder; the tests replay
 * them against the workflow code as it is. Run it after a change that is meant to change histories, and keep the old
 * files of released versions beside the new ones: `npx tsx test/histories/record.ts`.
 */
import { randomUUID } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { pino } from 'pino';
import { createCatalogue } from '../../src/effects/catalogue.js';
import { NotDoneError, NotYetError } from '../../src/effects/errors.js';
import { forwardsKey, park, type Recovery, reconcile } from '../../src/effects/recovery.js';
import { eventKey } from '../../src/identity/event-identity.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import { createMetrics } from '../../src/runtime/metrics.js';
import { sha256 } from '../../src/runtime/sha256.js';
import { createWorker } from '../../src/worker/create-worker.js';
import type { ProcessEventInput } from '../../src/workflows/contract.js';
import { createGate } from '../hazards/support/gate.js';
import { nudged } from '../hazards/support/nudged.js';
import { shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { type RecordingServers, withRecordingServers } from './recording-servers.js';
import { writeHistory } from './write-history.js';

const taskQueue = 'histories';

/** How each order's effect behaves, by the order's name; what is not here is done at once. */
const behaviour = new Map<string, (attempt: number) => Promise<void> | void>();
const quick = { initialInterval: 50, maximumInterval: 50, maximumAttempts: 3 };
const effects = ['ship-order', 'send-mail'].map((name) =>
  shop.effect(name, {
    on: 'order.paid',
    retry: quick,
    businessKey: ({ data }) => {
      if (data.unplannable) throw new Error('no key');
      return `${name}:${data.order}`;
    },
    commit: async ({ event, attempt }) => {
      await behaviour.get(`${name} ${event.data.order}`)?.(attempt);
      return { order: event.data.order };
    },
  }),
);

/** How the calls of these behave stands in `behaviour` too. */
const external = (name: string, recovery: Recovery<null>) =>
  shop.externalEffect(name, {
    on: 'order.paid',
    retry: quick,
    businessKey: ({ data }) => `${name}:${data.order}`,
    perform: async ({ event, attempt }) => {
      await behaviour.get(`${name} ${event.data.order}`)?.(attempt);
      return null;
    },
    recovery,
  });
const externalEffects = [
  external('charge', forwardsKey({ validFor: '1 day' })),
  external('hand-over', park()),
  external('ask', reconcile<null>(async () => 'unknown')),
];

const phaseOf = async (handle: WorkflowHandle) =>
  ((await handle.query('status')) as { effects: { phase: string }[] }).effects[0]?.phase;

interface Recording {
  readonly client: Client;
  /** @returns Rows affected or found. */
  sql(text: string, values: readonly unknown[]): Promise<number>;
  start(order: string, more?: Partial<ProcessEventInput> & { data?: object; id?: string }): Promise<WorkflowHandle>;
}

const fails = (attempts: number) => (attempt: number) => {
  if (attempt <= attempts) throw new Error('the warehouse said no');
};
const failed = (handle: WorkflowHandle) =>
  handle.result().then(
    () => Promise.reject(new Error('it completed')),
    () => handle,
  );
const done = (handle: WorkflowHandle) => handle.result().then(() => handle);
const both = ['ship-order', 'send-mail'];

/** Each resolves with a handle on the run to record. */
const shapes: Record<string, (recording: Recording, order: string) => Promise<WorkflowHandle>> = {
  'done-at-once': async ({ start }, order) => done(await start(order)),
  'retried-then-done': async ({ start }, order) => {
    behaviour.set(`ship-order ${order}`, fails(2));
    return done(await start(order));
  },
  'dead-lettered': async ({ start }, order) => {
    behaviour.set(`ship-order ${order}`, fails(9));
    return failed(await start(order));
  },
  'several-effects-one-failed': async ({ start }, order) => {
    behaviour.set(`send-mail ${order}`, fails(9));
    return failed(await start(order, { effects: both }));
  },
  'several-effects': async ({ start }, order) => {
    behaviour.set(`send-mail ${order}`, fails(1));
    return done(await start(order, { effects: both }));
  },
  'already-done': async ({ start }, order) => {
    await done(await start(order));
    return done(await start(order));
  },
  'already-done-by-another': async ({ start }, order) => {
    await done(await start(order));
    return done(await start(order, { id: randomUUID() }));
  },
  'waited-on-a-claim': async ({ start }, order) => {
    const gate = createGate();
    behaviour.set(`ship-order ${order}`, () => gate.pass());
    const holder = await start(order);
    await gate.reached;
    const waiter = await start(order, { id: randomUUID() });
    await until(
      'the wait',
      async () => ((await waiter.query('status')) as { effects: { phase: string }[] }).effects[0]?.phase === 'waiting',
    );
    gate.open();
    await done(holder);
    return done(waiter);
  },
  'waited-not-yet': async ({ start }, order) => {
    let left = 2;
    behaviour.set(`ship-order ${order}`, () => {
      if (left-- > 0) throw new NotYetError(50);
    });
    return done(await start(order));
  },
  'waits-for-an-effect': async ({ start }, order) => {
    const handle = await start(order, { effects: ['newcomer'] });
    await until('a second try', async () => ((await handle.fetchHistory()).events?.length ?? 0) > 12);
    await handle.terminate();
    return handle;
  },
  abandoned: async ({ start }, order) => {
    behaviour.set(`ship-order ${order}`, () => {
      throw new NotYetError(60_000);
    });
    const handle = await start(order);
    await until(
      'the wait',
      async () => ((await handle.query('status')) as { effects: { phase: string }[] }).effects[0]?.phase === 'waiting',
    );
    await handle.executeUpdate('abandon', { args: [{ by: 'ann', reason: 'the customer left' }] });
    return done(handle);
  },
  'abandoned-before': async (recording, order) => {
    await (shapes.abandoned as (typeof shapes)[string])(recording, order);
    return done(await recording.start(order));
  },
  'retried-now': async ({ start }, order) => {
    let left = 1;
    behaviour.set(`ship-order ${order}`, () => {
      if (left-- > 0) throw new NotYetError(60_000);
    });
    const handle = await start(order);
    await until(
      'the wait',
      async () => ((await handle.query('status')) as { effects: { phase: string }[] }).effects[0]?.phase === 'waiting',
    );
    await handle.signal('retryNow', { effect: 'ship-order' });
    return done(handle);
  },
  'external-recovered': async ({ start }, order) => {
    behaviour.set(`charge ${order}`, fails(2));
    return done(await start(order, { effects: ['charge'] }));
  },
  'external-proven-not-done': async ({ start }, order) => {
    behaviour.set(`charge ${order}`, (attempt) => {
      if (attempt === 1) throw new NotDoneError('declined');
    });
    return done(await start(order, { effects: ['charge'] }));
  },
  'external-parked': async ({ start, sql }, order) => {
    behaviour.set(`hand-over ${order}`, fails(1));
    const handle = await start(order, { effects: ['hand-over'] });
    await until('the park', async () => (await phaseOf(handle)) === 'parked');
    await until('its entry', async () => (await sql('SELECT 1 FROM onefold.dead_letters WHERE event_id = $1', [order])) > 0);
    await sql(
      `UPDATE onefold.effects SET state = 'done', fence = fence + 1, done_at = now(), result = '"done"' WHERE business_key = $1`,
      [`hand-over:${order}`],
    );
    await handle.signal('retryNow');
    return done(handle);
  },
  'external-asked-in-vain': async ({ start, sql }, order) => {
    behaviour.set(`ask ${order}`, fails(1));
    const handle = await start(order, { effects: ['ask'] });
    await until('the park', async () => (await phaseOf(handle)) === 'parked');
    await until('its entry', async () => (await sql('SELECT 1 FROM onefold.dead_letters WHERE event_id = $1', [order])) > 0);
    await sql(
      `UPDATE onefold.effects SET state = 'released', fence = fence + 1, generation = 2, in_doubt = false WHERE business_key = $1`,
      [`ask:${order}`],
    );
    await handle.signal('retryNow');
    return done(handle);
  },
  cancelled: async ({ start }, order) => {
    behaviour.set(`ship-order ${order}`, () => {
      throw new NotYetError(60_000);
    });
    const handle = await start(order);
    await until(
      'the wait',
      async () => ((await handle.query('status')) as { effects: { phase: string }[] }).effects[0]?.phase === 'waiting',
    );
    await handle.cancel();
    return failed(handle);
  },
  'planning-failed': async ({ start }, order) => {
    const handle = await start(order, { data: { unplannable: true } });
    await until('a failed plan', async () => ((await handle.fetchHistory()).events?.length ?? 0) > 5);
    await handle.signal('retryNow');
    await until('another one', async () => ((await handle.fetchHistory()).events?.length ?? 0) > 14);
    await handle.terminate();
    return handle;
  },
  'data-invalid': async ({ start }, order) => failed(await start(order, { payload: { text: 'no JSON' } })),
  'malformed-input': async ({ client }, order) => {
    const workflowId = eventKey({ tenant: '', source: 'shop', id: order }, sha256);
    return failed(await client.workflow.start('processEvent', { workflowId, taskQueue, args: ['rubbish'] }));
  },
  'continued-as-new': async (recording, order) => (await outgrown(recording, order)).first,
  'continued-from': async (recording, order) => done((await outgrown(recording, order)).next),
  sweep: async ({ client }, order) =>
    done(await client.workflow.start('sweepClosedEvents', { workflowId: `sweep/${order}`, taskQueue, args: [] })),
};

/** An event that waits until its history is long enough for a second run. */
async function outgrown({ client, start }: Recording, order: string) {
  let open = false;
  behaviour.set(`send-mail ${order}`, () => {
    if (!open) throw new NotYetError(20);
  });
  const handle = await start(order, { effects: both });
  const { runId } = await handle.describe();
  const untilNext = () => until('a second run', async () => (await handle.describe()).runId !== runId, 60_000);
  await nudged([handle], untilNext, 200);
  open = true;
  await handle.signal('retryNow');
  return {
    first: client.workflow.getHandle(handle.workflowId, runId),
    next: client.workflow.getHandle(handle.workflowId),
  };
}

async function record({ client, address, connectionString }: RecordingServers): Promise<void> {
  const database = pgDatabase({ connectionString, max: 40 });
  let ready: () => void = () => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const worker = createWorker(
    {
      catalogue: createCatalogue([shop], [...effects, ...externalEffects]),
      ledger: { database, schema: schemaName('onefold') },
      client,
      temporal: { address },
      namespace: 'default',
      taskQueue,
      log: pino({ level: 'silent' }),
      metrics: createMetrics(),
    },
    { ownSignals: true, onReady: ready },
  );
  const running = worker.run();
  try {
    await Promise.race([isReady, running]);
    const sql: Recording['sql'] = async (text, values) => (await database.query(text, values)).rowCount;
    const start: Recording['start'] = (order, { data, id = order, ...more } = {}) => {
      const text = JSON.stringify({ type: 'order.paid', data: { order, ...data } });
      const input: ProcessEventInput = {
        version: 1,
        tenant: '',
        source: 'shop',
        id,
        type: 'order.paid',
        digest: sha256(text),
        receivedAt: new Date().toISOString(),
        payload: { text },
        effects: ['ship-order'],
        ...more,
      };
      const workflowId = eventKey({ tenant: '', source: 'shop', id }, sha256);
      return client.workflow.start('processEvent', { workflowId, taskQueue, args: [input] });
    };
    for (const [name, shape] of Object.entries(shapes)) {
      await writeHistory(name, await shape({ client, start, sql }, name));
    }
  } finally {
    worker.shutdown();
    await running;
    await database.close();
  }
}

await withRecordingServers(record);
