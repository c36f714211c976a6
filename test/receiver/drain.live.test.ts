import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHarness, type OpenReceiver, type ReceiverHarness } from './support/receiver-harness.js';
import { type Delivery, shop, signed } from './support/sources.js';

let harness: ReceiverHarness;
const { source, effects } = shop();

beforeAll(async () => {
  harness = await createHarness();
});

afterAll(() => harness.close());

interface Sent {
  readonly id: string;
  readonly status: number;
  readonly connection: string | undefined;
}

/** Sends over a keep-alive connection of an agent; rejects when the connection is cut before the answer. */
function sendOver(agent: Agent, { http }: OpenReceiver, id: string, { headers, body }: Delivery): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const sent = request(`${http.url}/shop`, {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-length': body.byteLength },
    });
    sent.once('error', reject).once('response', (response) => {
      const { statusCode = 0, headers: answered } = response;
      response.resume().once('end', () => resolve({ id, status: statusCode, connection: answered.connection }));
    });
    sent.end(body);
  });
}

test('under keep-alive load a drain cuts no request, and every event that was accepted is held by Temporal', async () => {
  const receiver = await harness.open({ sources: [{ source, effects }] });
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const sent: Sent[] = [];
  let stopping = false;
  const client = async (): Promise<void> => {
    while (!stopping) {
      const id = randomUUID();
      sent.push(await sendOver(agent, receiver, id, signed(source, id)));
    }
  };
  const clients = Array.from({ length: 20 }, client);
  await expect.poll(() => sent.length, { timeout: 20_000, interval: 10 }).toBeGreaterThan(60);
  await receiver.receiver.drain();
  const answeredByDrain = sent.length;
  await expect.poll(() => sent.length, { timeout: 20_000, interval: 10 }).toBeGreaterThan(answeredByDrain + 40);
  stopping = true;
  await Promise.all(clients);
  agent.destroy();

  const accepted = sent.filter(({ status }) => status === 202);
  const refused = sent.filter(({ status }) => status === 503);
  expect(accepted.length + refused.length).toBe(sent.length);
  expect(refused.every(({ connection }) => connection === 'close')).toBe(true);
  expect(sent.slice(answeredByDrain + 20).every(({ status }) => status === 503)).toBe(true);
  for (const { id } of accepted) {
    const { status } = await harness.temporal.client.workflow.getHandle(`event//shop/${id}`).describe();
    expect(status.name).toBe('RUNNING');
  }
  const { rows } = await harness.ledger.database.query<{ n: string }>(
    "SELECT count(*) AS n FROM onefold.deliveries WHERE path = 'first_run'",
  );
  expect(Number(rows[0]?.n)).toBe(accepted.length);
});

test('a drain waits for the answer of a request that was under way, which then closes its connection', async () => {
  const settled = shop('shop', { acknowledge: 'settled', settleWithin: 1_000 });
  const receiver = await harness.open({ sources: [settled] });
  const agent = new Agent({ keepAlive: true });
  const id = randomUUID();
  const answer = sendOver(agent, receiver, id, signed(settled.source, id, { data: { do: 'wait' } }));
  await expect
    .poll(() =>
      harness.temporal.client.workflow
        .getHandle(`event//shop/${id}`)
        .describe()
        .then(
          () => true,
          () => false,
        ),
    )
    .toBe(true);
  let drained = false;
  const draining = receiver.receiver.drain().then(() => {
    drained = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(drained).toBe(false);
  expect(await answer).toMatchObject({ status: 202, connection: 'close' });
  await draining;
  agent.destroy();
});
