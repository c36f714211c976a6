import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { publicationKey } from '../../src/identity/publication-identity.js';
import { tellChanges } from '../../src/publisher/tell-changes.js';
import { sha256 } from '../../src/runtime/sha256.js';
import type { DeliveryRef } from '../../src/workflows/delivery-contract.js';
import { createSendStage, type SendStage } from '../ledger/sends/support/send-stage.js';

let stage: SendStage;
let connection: Connection;
let client: Client;
const log = pino({ level: 'silent' });
beforeAll(async () => {
  stage = await createSendStage();
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = new Client({ connection });
});
afterAll(async () => {
  await connection?.close();
  await stage?.close();
});

const tell = (through: Client = client) => tellChanges({ ledger: stage.ledger, client: through, log });

/** A delivery with its workflow, which nobody runs: a signal is in its history all the same. */
async function underWay(endpoint: string, state = 'started'): Promise<DeliveryRef> {
  const ref = await stage.delivery(endpoint, { state });
  await client.workflow.start('deliverPublication', {
    workflowId: publicationKey(ref, sha256),
    taskQueue: `nobody-${randomUUID()}`,
  });
  return ref;
}

async function signals(ref: DeliveryRef): Promise<number> {
  const { events } = await client.workflow.getHandle(publicationKey(ref, sha256)).fetchHistory();
  const signalled = (events ?? []).filter(({ workflowExecutionSignaledEventAttributes: one }) => one);
  expect(new Set(signalled.map((one) => one.workflowExecutionSignaledEventAttributes?.signalName))).toEqual(
    new Set(signalled.length === 0 ? [] : ['endpointChanged']),
  );
  return signalled.length;
}

async function changed(endpoint: string): Promise<void> {
  await stage.sql('UPDATE onefold.endpoints SET version = version + 1 WHERE id = $1', [endpoint]);
}

async function toldVersion(endpoint: string): Promise<number> {
  const [row] = await stage.sql('SELECT told_version::int AS told FROM onefold.endpoints WHERE id = $1', [endpoint]);
  return row?.told;
}

test('the deliveries under way of a changed endpoint are told once, and no others', async () => {
  const endpoint = await stage.endpoint();
  const refs = await Promise.all(Array.from({ length: 12 }, () => underWay(endpoint)));
  const ended = await underWay(endpoint, 'delivered');
  const other = await underWay(await stage.endpoint());
  await tell();
  expect(await signals(refs[0] as DeliveryRef)).toBe(0);
  await changed(endpoint);
  await tell();
  await tell();
  expect(await Promise.all(refs.map(signals))).toEqual(refs.map(() => 1));
  expect(await signals(ended)).toBe(0);
  expect(await signals(other)).toBe(0);
  expect(await toldVersion(endpoint)).toBe(2);
});

test('a delivery whose workflow is gone, or not there yet, keeps no other from being told', async () => {
  const endpoint = await stage.endpoint();
  for (let nth = 0; nth < 5; nth++) await stage.delivery(endpoint);
  const ref = await underWay(endpoint);
  const closed = await underWay(endpoint);
  await client.workflow.getHandle(publicationKey(closed, sha256)).terminate('by the test');
  await changed(endpoint);
  await tell();
  expect(await signals(ref)).toBe(1);
  expect(await toldVersion(endpoint)).toBe(2);
});

/** Temporal that goes away after so many signals. */
function dyingAfter(signalled: number): Client {
  let told = 0;
  return {
    withDeadline: async (_deadline: unknown, work: () => Promise<void>) => {
      if (++told > signalled) throw Object.assign(new Error('away'), { code: 14, details: '', metadata: {} });
      await work();
    },
    workflow: client.workflow,
  } as unknown as Client;
}

/** Rows of deliveries under way without workflows, which come before all others. */
async function bulk(endpoint: string, count: number): Promise<void> {
  await stage.sql(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state)
     SELECT '', 'bulk:' || lpad(nth::text, 4, '0'), $1, 'started' FROM generate_series(1, $2::int) AS nth`,
    [endpoint, count],
  );
}

test('what a relay did not tell to the end is told by the next one, which goes on there', async () => {
  const endpoint = await stage.endpoint();
  await bulk(endpoint, 150);
  const last = await underWay(endpoint);
  await changed(endpoint);
  await expect(tell(dyingAfter(120))).rejects.toThrow('away');
  expect(await toldVersion(endpoint)).toBe(1);
  expect(await signals(last)).toBe(0);
  let further = 0;
  const counting = {
    withDeadline: async (_deadline: unknown, work: () => Promise<void>) => {
      further += 1;
      await work();
    },
    workflow: client.workflow,
  } as unknown as Client;
  await tell(counting);
  expect(further).toBe(31);
  expect(await signals(last)).toBe(1);
  expect(await toldVersion(endpoint)).toBe(2);
});

test('a version that comes about after a failure is told to all, also to those who heard of the one before', async () => {
  const endpoint = await stage.endpoint();
  const refs = await Promise.all(Array.from({ length: 6 }, () => underWay(endpoint)));
  await changed(endpoint);
  await expect(tell(dyingAfter(4))).rejects.toThrow('away');
  await changed(endpoint);
  await tell();
  expect((await Promise.all(refs.map(signals))).sort()).toEqual([1, 1, 2, 2, 2, 2]);
  expect(await toldVersion(endpoint)).toBe(3);
});

test('what another relay is telling is left to it until its lease is over', async () => {
  const endpoint = await stage.endpoint();
  const ref = await underWay(endpoint);
  await changed(endpoint);
  // A relay that died while it told.
  await stage.sql(`UPDATE onefold.endpoints SET told_lease = clock_timestamp() + interval '1 minute' WHERE id = $1`, [
    endpoint,
  ]);
  await tell();
  expect(await signals(ref)).toBe(0);
  await stage.sql(`UPDATE onefold.endpoints SET told_lease = clock_timestamp() WHERE id = $1`, [endpoint]);
  await tell();
  expect(await signals(ref)).toBe(1);
});

test('a change that comes about while the one before is told is told too', async () => {
  const endpoint = await stage.endpoint();
  const ref = await underWay(endpoint);
  await changed(endpoint);
  const meanwhile = {
    withDeadline: async (_deadline: unknown, work: () => Promise<void>) => {
      await work();
      await changed(endpoint);
    },
    workflow: client.workflow,
  } as unknown as Client;
  await tell(meanwhile);
  expect(await toldVersion(endpoint)).toBe(2);
  await tell();
  expect(await signals(ref)).toBe(2);
  expect(await toldVersion(endpoint)).toBe(3);
});

test('of several relays at once one tells all of more than a page, each delivery once', async () => {
  const endpoint = await stage.endpoint();
  const refs = [await underWay(endpoint), await underWay(endpoint)];
  await bulk(endpoint, 450);
  await changed(endpoint);
  await Promise.all([tell(), tell(), tell()]);
  for (const ref of refs) expect(await signals(ref)).toBe(1);
  expect(await toldVersion(endpoint)).toBe(2);
});

test('a relay that is to stop tells no more, and leaves the rest for the next one', async () => {
  const endpoint = await stage.endpoint();
  await underWay(endpoint);
  await changed(endpoint);
  const stopped = AbortSignal.abort(new Error('the relay is stopping'));
  await expect(tellChanges({ ledger: stage.ledger, client, log }, stopped)).rejects.toThrow('stopping');
  expect(await toldVersion(endpoint)).toBe(1);
});
