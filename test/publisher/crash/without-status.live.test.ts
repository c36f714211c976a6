import { afterAll, beforeAll, expect, test } from 'vitest';
import noStatus from '../../cases/delivery-without-any-status.json' with { type: 'json' };
import { until } from '../../hazards/support/until.js';
import { startProxy } from '../../receiver/support/switchable-proxy.js';
import { pem } from '../egress/support/clients.js';
import { type Answer, answers, rawReceiver } from '../egress/support/raw-receiver.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';

const expected = noStatus.expect.byCase;
type Case = keyof typeof expected;

let stage: DeliveryStage;
beforeAll(async () => {
  stage = await createDeliveryStage();
});
afterAll(() => stage?.close());

/** Delivers one publication to an endpoint that has four attempts, as a tenant of the case's name. */
async function deliver(name: Case, url: string, meanwhile: (publication: string) => Promise<void> = async () => {}) {
  const { id } = await stage.endpoint(url, { tenant: name, timeout: '1 second', schedule: [500, 500, 500] });
  const { publication, eventId } = await stage.publish(undefined, name);
  await meanwhile(publication);
  const end = await stage.end(id, publication, name);
  const attempts = await stage.sql<{ code: string | null; status: number | null }>(
    'SELECT code, status FROM onefold.publication_attempts WHERE publication = $1 ORDER BY started_at',
    [publication],
  );
  const letters = await stage.sql<{ code: string; message: string; effects: object }>(
    'SELECT code, message, effects FROM onefold.dead_letters WHERE event_id = $1',
    [publication],
  );
  const delivered = 'outcome' in end && end.outcome === 'delivered';
  return { counted: { delivered, attempts: attempts.length }, attempts, letters, eventId };
}

const idsOf = (requests: readonly string[]) => requests.map((text) => /webhook-id: (.*)\r/.exec(text)?.[1]);

test('dns-not-found-always: every attempt is made, then it is dead-lettered', async () => {
  const { counted, attempts, letters } = await deliver('dns-not-found-always', 'https://nobody-is-here.invalid/hook');
  expect({ ...counted, deadLetters: letters.length }).toEqual(expected['dns-not-found-always']);
  expect(attempts).toEqual(Array(4).fill({ code: 'dns_failed', status: null }));
});

test('refused-then-ok: it is delivered once the receiver is back', async () => {
  const receiver = await rawReceiver(answers(200));
  const door = await startProxy(`127.0.0.1:${receiver.port}`);
  await door.become('refuse');
  const { counted, attempts, eventId } = await deliver(
    'refused-then-ok',
    `http://${door.address}/hook`,
    async (publication) => {
      await until('the first attempt to fail', async () => {
        const rows = await stage.sql(
          'SELECT 1 FROM onefold.publication_attempts WHERE publication = $1 AND ended = $2',
          [publication, 'retry'],
        );
        return rows.length > 0;
      });
      await door.become('up');
    },
  );
  await door.close();
  expect(counted).toEqual(expected['refused-then-ok']);
  expect(attempts[0]).toEqual({ code: 'connection_refused', status: null });
  expect(idsOf(receiver.requests)).toEqual([eventId]);
});

test('idle-connection-closed: a kept connection that the receiver has closed costs no message', async () => {
  const closing: Answer = (socket, number) => {
    answers(200)(socket, number);
    setTimeout(() => socket.destroy(), 50);
  };
  const receiver = await rawReceiver(closing);
  const { id } = await stage.endpoint(receiver.url, { tenant: 'idle-connection-closed' });
  for (let number = 0; number < 3; number++) {
    const { publication, eventId } = await stage.publish(undefined, 'idle-connection-closed');
    const end = await stage.end(id, publication, 'idle-connection-closed');
    expect(end).toMatchObject({ outcome: 'delivered' });
    expect(expected['idle-connection-closed'].attempts).toContain((end as { attempts: number }).attempts);
    expect(idsOf(receiver.requests)).toContain(eventId);
  }
});

test('reset-after-half-the-headers: it is sent again under the same webhook-id', async () => {
  const receiver = await rawReceiver((socket, number) => {
    if (number === 1) socket.end('HTTP/1.1 200 OK\r\ncontent-le');
    else answers(200)(socket, number);
  });
  const { counted, attempts, eventId } = await deliver('reset-after-half-the-headers', receiver.url);
  expect(counted).toEqual(expected['reset-after-half-the-headers']);
  expect(attempts[0]).toEqual({ code: 'connection_reset', status: null });
  expect(idsOf(receiver.requests)).toEqual([eventId, eventId]);
});

test('tls-certificate-expired: every attempt is made, and none of them says anything to the receiver', async () => {
  const receiver = await rawReceiver(answers(200), { tls: { key: pem('server.key'), cert: pem('expired.pem') } });
  const { counted, attempts, letters } = await deliver('tls-certificate-expired', receiver.url);
  expect({ ...counted, deadLetters: letters.length }).toEqual(expected['tls-certificate-expired']);
  expect(attempts).toEqual(Array(4).fill({ code: 'tls_failed', status: null }));
  expect(receiver.requests).toHaveLength(0);
});

test('headers-never-come: every attempt ends by its timeout, all under one webhook-id', async () => {
  const receiver = await rawReceiver(() => {});
  const { counted, attempts, letters, eventId } = await deliver('headers-never-come', receiver.url);
  expect({ ...counted, deadLetters: letters.length }).toEqual(expected['headers-never-come']);
  expect(attempts).toEqual(Array(4).fill({ code: 'response_timeout', status: null }));
  expect(idsOf(receiver.requests)).toEqual(Array(4).fill(eventId));
  // What people read of it tells no address and no secret.
  expect(JSON.stringify(letters)).not.toMatch(/whsec_|v1,/);
});
