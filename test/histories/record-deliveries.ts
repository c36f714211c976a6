/**
 * Records one history of each shape that a delivery's run can take, with real servers and a real receiver that answers
 * as it is told, into this folder, as `delivery-<shape>.json`; see `record.ts`, which does the same for events:
 * `npx tsx test/histories/record-deliveries.ts`.
 */
import { randomBytes } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { pino } from 'pino';
import { publicationKey } from '../../src/identity/publication-identity.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { createOnefold } from '../../src/onefold.js';
import type { EndpointSettings } from '../../src/publisher/endpoint-settings.js';
import { publications } from '../../src/publisher/publications.js';
import { sha256 } from '../../src/runtime/sha256.js';
import { types } from '../../src/sources/types.js';
import { type DeliveryStatus, deliverPublicationName, deliveryTaskQueue } from '../../src/workflows/delivery-contract.js';
import { createGate } from '../hazards/support/gate.js';
import { nudged } from '../hazards/support/nudged.js';
import { until } from '../hazards/support/until.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../publisher/support/scripted-receiver.js';
import { type RecordingServers, withRecordingServers } from './recording-servers.js';
import { writeHistory } from './write-history.js';

const taskQueue = 'histories';
const outgoing = publications({ events: { 'order.confirmed': types<{ readonly order: string }>() } });

/** What a shape is played with: an application, and an endpoint that no other shape has. */
interface Recording {
  readonly client: Client;
  readonly receiver: ScriptedReceiver;
  /** The endpoint's id. */
  readonly endpoint: string;
  readonly endpoints: ReturnType<typeof createOnefold>['endpoints'];
  /** @returns Rows affected or found. */
  sql(text: string, values?: readonly unknown[]): Promise<number>;
  /** Publishes, and resolves when a relay has started the delivery. */
  publish(publication: string): Promise<WorkflowHandle>;
  /** Sends an ended delivery again. */
  resend(publication: string): Promise<unknown>;
}

interface Shape {
  /** Of the endpoint, beside three quick pauses. */
  readonly settings?: Partial<EndpointSettings>;
  /** Resolves with a handle on the run to record. */
  play(recording: Recording, publication: string): Promise<WorkflowHandle>;
}

const failed = (handle: WorkflowHandle) =>
  handle.result().then(
    () => Promise.reject(new Error('it completed')),
    () => handle,
  );
const done = (handle: WorkflowHandle) => handle.result().then(() => handle);
const inPhase = (handle: WorkflowHandle, phase: DeliveryStatus['phase']) =>
  until(phase, async () => (await handle.query<DeliveryStatus>('status')).phase === phase);

/** Answers 503 to so many requests, and 200 to the others. */
const failing = (requests: number) => (_request: unknown, nth: number) => (nth <= requests ? 503 : 200);
const always = Number.POSITIVE_INFINITY;
const longPause = { schedule: ['1 hour'] };

const shapes: Record<string, Shape> = {
  'delivered-at-once': { play: async ({ publish }, publication) => done(await publish(publication)) },
  'retried-then-delivered': {
    async play({ receiver, publish }, publication) {
      receiver.answer((_request, nth) => {
        if (nth === 1) return (response) => response.writeHead(503, { 'retry-after': '1' }).end();
        return nth === 2 ? 503 : 200;
      });
      return done(await publish(publication));
    },
  },
  'budget-spent': {
    async play({ receiver, publish }, publication) {
      receiver.answer(failing(always));
      return failed(await publish(publication));
    },
  },
  rejected: {
    async play({ receiver, publish }, publication) {
      receiver.answer(() => 404);
      return failed(await publish(publication));
    },
  },
  gone: {
    async play({ receiver, publish }, publication) {
      receiver.answer(() => 410);
      return failed(await publish(publication));
    },
  },
  'asked-for-more-than-the-budget': {
    async play({ receiver, publish }, publication) {
      receiver.answer(() => (response) => response.writeHead(429, { 'retry-after': '2592000' }).end());
      return failed(await publish(publication));
    },
  },
  'outcome-unknown': {
    settings: { atMostOnce: true },
    async play({ receiver, publish }, publication) {
      receiver.answer(() => (response) => response.destroy());
      return failed(await publish(publication));
    },
  },
  'written-down-later': {
    async play({ receiver, publish, sql }, publication) {
      receiver.answer(async () => {
        await sql('ALTER TABLE onefold.publication_attempts RENAME TO attempts_elsewhere');
        return 200;
      });
      const handle = await publish(publication);
      await until('its end cannot be written', async () =>
        (await handle.fetchHistory()).events?.some(
          ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'recordSend',
        ),
      );
      await sql('ALTER TABLE onefold.attempts_elsewhere RENAME TO publication_attempts');
      return done(handle);
    },
  },
  'held-then-enabled': {
    async play({ endpoints, endpoint, publish }, publication) {
      await endpoints.disable(endpoint);
      const handle = await publish(publication);
      await inPhase(handle, 'held');
      await endpoints.enable(endpoint);
      return done(handle);
    },
  },
  'held-to-the-end': {
    settings: { maximumElapsed: '4 seconds' },
    async play({ endpoints, endpoint, publish }, publication) {
      await endpoints.pause(endpoint);
      return failed(await publish(publication));
    },
  },
  'limited-by-rate': {
    settings: { rateLimit: 0.3 },
    async play({ publish }, publication) {
      await done(await publish(`${publication}-before`));
      const handle = await publish(publication);
      await inPhase(handle, 'limited');
      return done(handle);
    },
  },
  'limited-by-concurrency': {
    settings: { concurrency: 1 },
    async play({ receiver, publish }, publication) {
      const gate = createGate();
      receiver.answer(async (_request, nth) => {
        if (nth === 1) await gate.pass();
        return 200;
      });
      const holder = await publish(`${publication}-before`);
      await gate.reached;
      const handle = await publish(publication);
      await inPhase(handle, 'limited');
      gate.open();
      await done(holder);
      return done(handle);
    },
  },
  'endpoint-removed': {
    settings: longPause,
    async play({ receiver, endpoints, endpoint, publish }, publication) {
      receiver.answer(failing(always));
      const handle = await publish(publication);
      await inPhase(handle, 'pausing');
      await endpoints.remove(endpoint);
      return failed(handle);
    },
  },
  'schedule-changed': {
    settings: longPause,
    async play({ receiver, endpoints, endpoint, publish }, publication) {
      receiver.answer(failing(1));
      const handle = await publish(publication);
      await inPhase(handle, 'pausing');
      await endpoints.update(endpoint, { schedule: [1500, '1 hour'] });
      return done(handle);
    },
  },
  'retried-now': {
    settings: longPause,
    async play({ receiver, publish }, publication) {
      receiver.answer(failing(1));
      const handle = await publish(publication);
      await inPhase(handle, 'pausing');
      await handle.signal('retryNow');
      return done(handle);
    },
  },
  abandoned: {
    settings: longPause,
    async play({ receiver, publish }, publication) {
      receiver.answer(failing(always));
      const handle = await publish(publication);
      await inPhase(handle, 'pausing');
      await handle.executeUpdate('abandon', { args: [{ by: 'ann', reason: 'the customer left' }] });
      return done(handle);
    },
  },
  cancelled: {
    settings: longPause,
    async play({ receiver, publish }, publication) {
      receiver.answer(failing(always));
      const handle = await publish(publication);
      await inPhase(handle, 'pausing');
      await handle.cancel();
      return failed(handle);
    },
  },
  'already-delivered': {
    async play({ client, publish }, publication) {
      const handle = await done(await publish(publication));
      const { events } = await handle.fetchHistory();
      const firstTask = events?.find(({ workflowTaskCompletedEventAttributes: completed }) => completed);
      await client.workflowService.resetWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId: handle.workflowId, runId: (await handle.describe()).runId },
        workflowTaskFinishEventId: firstTask?.eventId ?? null,
        requestId: `reset ${publication}`,
        reason: 'to see that nothing is sent again',
      });
      return done(client.workflow.getHandle(handle.workflowId));
    },
  },
  replayed: {
    async play({ client, publish, resend }, publication) {
      const { workflowId } = await done(await publish(publication));
      await resend(publication);
      return done(client.workflow.getHandle(workflowId));
    },
  },
  'malformed-input': {
    async play({ client, endpoint }, publication) {
      const workflowId = publicationKey({ tenant: '', endpoint, publication }, sha256);
      const options = { workflowId, taskQueue: deliveryTaskQueue(taskQueue), args: ['rubbish'] };
      return failed(await client.workflow.start(deliverPublicationName, options));
    },
  },
  'continued-as-new': {
    settings: longPause,
    play: async (recording, publication) => (await outgrown(recording, publication)).first,
  },
  'continued-from': {
    settings: longPause,
    play: async (recording, publication) => done((await outgrown(recording, publication)).next),
  },
};

/** A delivery that failed once, and is then held until its history is long enough for a second run. */
async function outgrown({ client, receiver, endpoints, endpoint, publish }: Recording, publication: string) {
  receiver.answer(failing(1));
  const handle = await publish(publication);
  await inPhase(handle, 'pausing');
  await endpoints.pause(endpoint);
  const { runId } = await handle.describe();
  const untilNext = () => until('a second run', async () => (await handle.describe()).runId !== runId, 60_000);
  await nudged([handle], untilNext, 200);
  await endpoints.resume(endpoint);
  return {
    first: client.workflow.getHandle(handle.workflowId, runId),
    next: client.workflow.getHandle(handle.workflowId),
  };
}

async function record({ client, address, connectionString }: RecordingServers): Promise<void> {
  process.env.ONEFOLD_SECRETS_KEYS = `recorder:${randomBytes(32).toString('base64')}`;
  const database = pgDatabase({ connectionString, max: 60 });
  const onefold = createOnefold({
    sources: [],
    effects: [],
    publications: outgoing,
    egress: { allow: ['127.0.0.1'] },
    database,
    taskQueue,
    temporal: { address },
    logger: pino({ level: 'silent' }),
  });
  const { endpoints } = onefold;
  let ready: () => void = () => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const worker = onefold.worker({ ownSignals: true, onReady: ready });
  const running = worker.run();
  try {
    await Promise.race([isReady, running]);
    for (const [shape, { settings = {}, play }] of Object.entries(shapes)) {
      const name = `delivery-${shape}`;
      const receiver = await startScriptedReceiver();
      const quick = { url: receiver.url, types: ['*'], schedule: [100, 100, 100] };
      const { id: endpoint } = (await endpoints.create({ ...quick, ...settings })).endpoint;
      const recording: Recording = {
        client,
        receiver,
        endpoint,
        endpoints,
        sql: async (text, values) => (await database.query(text, values)).rowCount,
        async publish(publication) {
          await onefold.publish({ publication, type: 'order.confirmed', data: { order: shape } });
          const handle = client.workflow.getHandle(publicationKey({ tenant: '', endpoint, publication }, sha256));
          await until('a relay has started it', () =>
            handle.describe().then(
              () => true,
              () => false,
            ),
          );
          return handle;
        },
        resend: (publication) =>
          onefold.tenant('').resend({ publication, endpoint }, { by: 'ann', reason: 'it was lost at the other end' }),
      };
      await writeHistory(name, await play(recording, name));
      // It would get what the next shapes publish.
      if ((await endpoints.get(endpoint)).state !== 'removed') await endpoints.remove(endpoint);
      await receiver.close();
    }
  } finally {
    worker.shutdown();
    await running;
    await onefold.close();
    await database.close();
  }
}

await withRecordingServers(record);
