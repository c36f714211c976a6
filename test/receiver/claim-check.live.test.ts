import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPayload } from '../../src/ledger/read-payload.js';
import { inlineBodyBytes } from '../../src/receiver/check-payload.js';
import type { ProcessEventInput } from '../../src/workflows/contract.js';
import { createHarness, type OpenReceiver, type ReceiverHarness } from './support/receiver-harness.js';
import { shop, signed } from './support/sources.js';

let harness: ReceiverHarness;
let receiver: OpenReceiver;
const { source, effects } = shop();

beforeAll(async () => {
  harness = await createHarness();
  receiver = await harness.open({ sources: [{ source, effects }] });
});

afterAll(() => harness.close());

/** A body of exactly so many bytes, told apart by a letter. */
function bodyOf(bytes: number, letter = 'x'): Buffer {
  const frame = '{"type":"order.paid","data":""}';
  return Buffer.from(frame.replace('""', `"${letter.repeat(bytes - frame.length)}"`));
}

/** The input of the latest run, as Temporal holds it. */
async function inputOf(id: string): Promise<ProcessEventInput> {
  const history = await harness.temporal.client.workflow.getHandle(`event//shop/${id}`).fetchHistory();
  const payload = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  return JSON.parse(Buffer.from(payload!).toString());
}

const storedBody = ({ digest }: { digest: string }, id: string) =>
  readPayload(harness.ledger.database.query, harness.ledger.schema, {
    tenant: '',
    eventKey: `event//shop/${id}`,
    digest,
  });

test('a body of 128 KiB travels in the input, and PostgreSQL is not asked', async () => {
  const id = randomUUID();
  const body = bodyOf(inlineBodyBytes);
  expect((await receiver.send('shop', signed(source, id, body))).status).toBe(202);
  const input = await inputOf(id);
  expect(input.payload).toEqual({ text: body.toString() });
  expect(await storedBody(input, id)).toBeUndefined();
});

test('a larger body lies in the ledger, and the input refers to it', async () => {
  const id = randomUUID();
  const body = bodyOf(inlineBodyBytes + 1);
  expect((await receiver.send('shop', signed(source, id, body))).status).toBe(202);
  const input = await inputOf(id);
  expect(input.payload).toEqual({ stored: true });
  expect(Buffer.from((await storedBody(input, id))!).equals(body)).toBe(true);
});

test('the body is committed before the start that refers to it', async () => {
  let committedAtStart: boolean | undefined;
  const id = randomUUID();
  const { client } = harness.temporal;
  const watching = Object.create(client, {
    workflow: {
      value: Object.create(client.workflow, {
        start: {
          value: async (name: string, options: { args: [ProcessEventInput] }) => {
            committedAtStart = (await storedBody(options.args[0], id)) !== undefined;
            return client.workflow.start(name, options as never);
          },
        },
      }),
    },
  });
  const { send } = await harness.open({
    sources: [{ source, effects }],
    temporal: { ...harness.temporal, client: watching },
  });
  expect((await send('shop', signed(source, id, bodyOf(200_000)))).status).toBe(202);
  expect(committedAtStart).toBe(true);
});

test('with PostgreSQL away a small event is taken, a large one is 503 with Retry-After and starts nothing', async () => {
  const away = {
    ...harness.ledger.database,
    transaction: () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })),
  };
  const { send } = await harness.open({
    sources: [{ source, effects }],
    ledger: { ...harness.ledger, database: away },
  });
  expect((await send('shop', signed(source, randomUUID()))).status).toBe(202);
  const id = randomUUID();
  const refused = await send('shop', signed(source, id, bodyOf(200_000)));
  expect(refused.status).toBe(503);
  expect(refused.json.code).toBe('ledger_unavailable');
  expect(refused.headers.get('retry-after')).toBe('5');
  await expect(harness.temporal.client.workflow.getHandle(`event//shop/${id}`).describe()).rejects.toThrow();
});

test('with a PostgreSQL that never answers a large event is 503 in bounded time', async () => {
  const silent = { ...harness.ledger.database, transaction: () => new Promise<never>(() => undefined) };
  const { send } = await harness.open({
    sources: [{ source, effects }],
    ledger: { ...harness.ledger, database: silent },
  });
  const begun = performance.now();
  expect((await send('shop', signed(source, randomUUID(), bodyOf(200_000)))).json.code).toBe('ledger_unavailable');
  expect(performance.now() - begun).toBeLessThan(2_000);
});

test('hazard-24-claim-check-mix-up: a differing duplicate does not touch the body that the event will read', async () => {
  const id = randomUUID();
  const [one, other] = [bodyOf(200_000, 'a'), bodyOf(200_000, 'b')];
  await receiver.send('shop', signed(source, id, one));
  const duplicate = await receiver.send('shop', signed(source, id, other));
  expect(duplicate.json.path).toBe('in_progress_elsewhere');
  const input = await inputOf(id);
  expect(Buffer.from((await storedBody(input, id))!).equals(one)).toBe(true);
  const { rows } = await harness.ledger.database.query<{ n: string }>(
    `SELECT count(*) AS n FROM onefold.payloads WHERE event_key = $1`,
    [`event//shop/${id}`],
  );
  expect(Number(rows[0]?.n)).toBe(2);
});

test('storing a body again renews its date and leaves it as it is', async () => {
  const id = randomUUID();
  const body = bodyOf(200_000);
  await receiver.send('shop', signed(source, id, body));
  const { query } = harness.ledger.database;
  const age = `UPDATE onefold.payloads SET stored_at = stored_at - interval '2 days' WHERE event_key = $1`;
  await query(age, [`event//shop/${id}`]);
  await receiver.send('shop', signed(source, id, body));
  const { rows } = await query<{ young: boolean; body: Buffer }>(
    `SELECT stored_at > clock_timestamp() - interval '1 minute' AS young, body FROM onefold.payloads WHERE event_key = $1`,
    [`event//shop/${id}`],
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]?.young).toBe(true);
  expect(rows[0]?.body.equals(body)).toBe(true);
});
