import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publicationKey } from '../../../src/identity/publication-identity.js';
import { endDelivery } from '../../../src/ledger/sends/end-delivery.js';
import { sha256 } from '../../../src/runtime/sha256.js';
import type { DeliveryRef } from '../../../src/workflows/delivery-contract.js';
import { createSendStage, type SendStage } from './support/send-stage.js';

let stage: SendStage;
beforeAll(async () => {
  stage = await createSendStage();
});
afterAll(() => stage?.close());

const quiet = { delivered: false, disabled: false, notices: 0, recovered: false };

test('a success ends the attempt, frees its slot and delivers the delivery', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  const attempt = await stage.begun(ref);
  const response = { bytes: 2, digest: sha256('ok'), text: 'o\0k' };
  expect(await stage.end(ref, attempt, { ended: 'delivered', response, durationMs: 12.4 })).toEqual({
    ...quiet,
    delivered: true,
  });
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ state: 'delivered', last_code: null, last_status: 200 });
  expect(delivery.ended_at).not.toBeNull();
  expect(attempts).toMatchObject([
    {
      ended: 'delivered',
      code: null,
      status: 200,
      duration_ms: 12,
      response_bytes: '2',
      response_digest: sha256('ok'),
      response_text: 'o\uFFFDk',
    },
  ]);
  expect(await slotsHeld(endpoint)).toBe(0);
});

test('a failure leaves the delivery started, and says why', async () => {
  const ref = await stage.delivery(await stage.endpoint());
  const attempt = await stage.begun(ref);
  expect(await stage.end(ref, attempt, { ended: 'retry' })).toMatchObject({ delivered: false, disabled: false });
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ state: 'started', last_code: 'http_503', last_status: 503, ended_at: null });
  expect(attempts).toMatchObject([{ ended: 'retry', code: 'http_503' }]);
});

test.each(['delivered', 'retry', 'rejected', 'outcome_unknown'] as const)(
  'to end an attempt as %s again changes nothing and answers the same',
  async (ended) => {
    const ref = await stage.delivery(await stage.endpoint());
    const attempt = await stage.begun(ref);
    const first = await stage.end(ref, attempt, { ended, status: null, code: 'connection_refused' });
    const before = await stage.look(ref);
    expect(await stage.end(ref, attempt, { ended, status: null, code: 'connection_refused' })).toEqual(first);
    expect(await stage.look(ref)).toEqual(before);
  },
);

test('of many that end one attempt at once, one does', async () => {
  const ref = await stage.delivery(await stage.endpoint());
  const attempt = await stage.begun(ref);
  await Promise.all(Array.from({ length: 10 }, () => stage.end(ref, attempt, refused)));
  expect((await stage.look(ref)).delivery).toMatchObject({ attempts: 1, possible_arrivals: 0 });
});

const refused = { ended: 'retry', status: null, code: 'connection_refused' } as const;

test('a late success of an attempt that was given up delivers the delivery', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  const first = await stage.begun(ref);
  await stage.outlive(ref);
  const second = await stage.begun(ref);
  expect(await stage.end(ref, first, { ended: 'delivered' })).toMatchObject({ delivered: true });
  expect(await stage.end(ref, second, { ended: 'retry' })).toMatchObject({ delivered: true });
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ state: 'delivered', last_code: null });
  expect(attempts).toMatchObject([{ ended: 'delivered' }, { ended: 'retry' }]);
  expect(await slotsHeld(endpoint)).toBe(0);
  expect(await stage.begin(ref)).toEqual({ kind: 'delivered' });
});

test.each(['retry', 'rejected', 'gone'] as const)(
  'a late %s of an attempt that was given up changes nothing but its slot',
  async (ended) => {
    const endpoint = await stage.endpoint();
    const ref = await stage.delivery(endpoint);
    const first = await stage.begun(ref);
    await stage.outlive(ref);
    await stage.begun(ref);
    const before = await stage.look(ref);
    expect(await stage.end(ref, first, { ended, status: 410 })).toEqual(quiet);
    expect(await stage.look(ref)).toEqual(before);
    expect(await slotsHeld(endpoint)).toBe(1);
  },
);

test('a late success delivers what was dead-lettered meanwhile, and closes its dead letter', async () => {
  const ref = await stage.delivery(await stage.endpoint());
  const attempt = await stage.begun(ref);
  await deadLetter(ref);
  expect((await stage.look(ref)).attempts).toMatchObject([{ ended: 'outcome_unknown' }]);
  expect(await stage.end(ref, attempt, { ended: 'delivered' })).toMatchObject({ delivered: true });
  const { delivery, letters } = await stage.look(ref);
  expect(delivery.state).toBe('delivered');
  expect(letters).toMatchObject([{ closed_by: 'delivery' }]);
  expect(letters[0].closed_at).not.toBeNull();
});

test('what a person gave up stays so, whatever comes late', async () => {
  const ref = await stage.delivery(await stage.endpoint());
  const attempt = await stage.begun(ref);
  await endDelivery(stage.ledger.database.query, stage.ledger.schema, {
    ...letterOf(ref),
    outcome: 'abandoned',
    by: 'ann',
    reason: 'no use',
  });
  expect(await stage.end(ref, attempt, { ended: 'delivered' })).toMatchObject({ delivered: false });
  const { delivery, attempts } = await stage.look(ref);
  expect(delivery).toMatchObject({ state: 'abandoned', abandoned_by: 'ann', abandoned_reason: 'no use' });
  // What arrived is written down all the same.
  expect(attempts).toMatchObject([{ ended: 'delivered' }]);
});

test('to end an attempt that never began writes nothing', async () => {
  const ref = await stage.delivery(await stage.endpoint());
  const before = await stage.look(ref);
  const attempt = { attemptId: randomUUID(), version: 1 };
  expect(await stage.end(ref, attempt, { ended: 'delivered' })).toEqual(quiet);
  expect(await stage.look(ref)).toEqual(before);
});

describe('what is left of the doubt whether it arrived', () => {
  test.each([
    [{ ended: 'retry', status: null, code: 'connection_refused' }, 0],
    [{ ended: 'retry', status: null, code: 'attempt_timed_out' }, 0],
    [{ ended: 'rejected', status: null, code: 'destination_refused' }, 0],
    [{ ended: 'retry', status: null, code: 'response_timeout' }, 1],
    [{ ended: 'retry', status: null, code: 'connection_reset' }, 1],
    [{ ended: 'retry', status: 503, code: 'http_503' }, 1],
    [{ ended: 'outcome_unknown', status: null, code: 'worker_stopping' }, 1],
    // Whoever made the exchange knows better than the code tells.
    [{ ended: 'retry', status: null, code: 'tls_failed', mayHaveArrived: true }, 1],
    [{ ended: 'retry', status: null, code: 'connection_reset', mayHaveArrived: false }, 0],
    [{ ended: 'rejected', status: 500, code: 'http_500', mayHaveArrived: false }, 1],
  ] as const)('%j leaves %i', async (how, left) => {
    const ref = await stage.delivery(await stage.endpoint());
    await stage.end(ref, await stage.begun(ref), how);
    expect((await stage.look(ref)).delivery.possible_arrivals).toBe(left);
  });
});

describe('an endpoint that takes each message at most once', () => {
  test('gets what has certainly not arrived again', async () => {
    const ref = await stage.delivery(await stage.endpoint({ atMostOnce: true }));
    await stage.end(ref, await stage.begun(ref), refused);
    expect(await stage.begun(ref)).toMatchObject({ atMostOnce: true });
  });

  test('does not get what a vanished attempt may have sent; the doubt is named', async () => {
    const ref = await stage.delivery(await stage.endpoint({ atMostOnce: true }));
    await stage.begun(ref);
    await stage.outlive(ref);
    expect(await stage.begin(ref)).toMatchObject({ kind: 'unknown_before' });
    const { delivery, attempts } = await stage.look(ref);
    expect(attempts).toMatchObject([{ ended: 'outcome_unknown', code: 'outcome_unknown' }]);
    expect(delivery.attempts).toBe(1);
  });

  test('does not get it either after a reset of its dead-lettered delivery, and does after a replay', async () => {
    const ref = await stage.delivery(await stage.endpoint({ atMostOnce: true }));
    await stage.end(ref, await stage.begun(ref), { ended: 'rejected', status: 500, code: 'http_500' });
    await deadLetter(ref);
    expect(await stage.begin(ref, { runId: 'run-2' })).toMatchObject({ kind: 'unknown_before' });
    await stage.begun(ref, { runId: 'run-3', replay: 'act-1' });
    await stage.outlive(ref);
    expect(await stage.begin(ref, { runId: 'run-3', replay: 'act-1' })).toMatchObject({ kind: 'unknown_before' });
  });

  test('gets one of many attempts that begin at once', async () => {
    const ref = await stage.delivery(await stage.endpoint({ atMostOnce: true }));
    const begun = await Promise.all(Array.from({ length: 12 }, () => stage.begin(ref)));
    expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(1);
    expect(begun.filter(({ kind }) => kind === 'limited')).toHaveLength(11);
    await stage.outlive(ref);
    expect(await stage.begin(ref)).toMatchObject({ kind: 'unknown_before' });
  });

  test('is not sent what earlier attempts may have brought while it took repeats', async () => {
    const endpoint = await stage.endpoint();
    const ref = await stage.delivery(endpoint);
    await stage.end(ref, await stage.begun(ref), { ended: 'retry', status: null, code: 'response_timeout' });
    await stage.sql('UPDATE onefold.endpoints SET at_most_once = true WHERE id = $1', [endpoint]);
    expect(await stage.begin(ref)).toMatchObject({ kind: 'unknown_before' });
  });
});

describe('a replay', () => {
  test.each(['delivered', 'dead_lettered', 'abandoned'])('lifts the end of what is %s, once', async (state) => {
    const endpoint = await stage.endpoint();
    const ref = await stage.delivery(endpoint, { state });
    const attempt = await stage.begun(ref, { replay: 'act-1' });
    expect((await stage.look(ref)).delivery).toMatchObject({ state: 'started', replay: 'act-1', abandoned_by: null });
    await stage.end(ref, attempt, { ended: 'delivered' });
    // A reset of the replay's run, whose history has the act in its input.
    expect(await stage.begin(ref, { replay: 'act-1' })).toEqual({ kind: 'delivered' });
    // A second wish.
    await stage.begun(ref, { replay: 'act-2' });
  });

  test('that a later one has followed lifts nothing any more', async () => {
    const ref = await stage.delivery(await stage.endpoint());
    await act(ref, 'act-1', 'replay');
    await stage.end(ref, await stage.begun(ref, { replay: actId(ref, 'act-1') }), { ended: 'delivered' });
    await sleep(5);
    await act(ref, 'act-2', 'replay');
    await stage.end(ref, await stage.begun(ref, { replay: actId(ref, 'act-2') }), { ended: 'delivered' });
    expect(await stage.begin(ref, { replay: actId(ref, 'act-1') })).toEqual({ kind: 'delivered' });
    await sleep(5);
    await act(ref, 'act-3', 'replay');
    await stage.begun(ref, { replay: actId(ref, 'act-3') });
  });

  test('does not lift what a person gave up after asking for it', async () => {
    const ref = await stage.delivery(await stage.endpoint(), { state: 'abandoned' });
    await act(ref, 'act-1', 'replay');
    await sleep(5);
    await act(ref, 'act-2', 'abandon');
    expect(await stage.begin(ref, { replay: actId(ref, 'act-1') })).toMatchObject({ kind: 'abandoned' });
  });

  test('lifts the end also where the endpoint takes nothing yet, so that its own end can be written', async () => {
    const endpoint = await stage.endpoint({ state: 'paused' });
    const ref = await stage.delivery(endpoint, { state: 'delivered' });
    expect(await stage.begin(ref, { replay: 'act-1' })).toMatchObject({ kind: 'held' });
    expect((await stage.look(ref)).delivery).toMatchObject({ state: 'started', attempts: 0, replay: 'act-1' });
    expect(await deadLetter(ref)).toEqual({ changed: true, delivered: false });
  });
});

describe('the end of a delivery', () => {
  test('opens its dead letter, with what a person needs', async () => {
    const ref = await stage.delivery(await stage.endpoint());
    expect(await deadLetter(ref, 'run-1', { message: 'gave up\0' })).toEqual({ changed: true, delivered: false });
    const { delivery, letters } = await stage.look(ref);
    expect(delivery).toMatchObject({ state: 'dead_lettered', last_code: 'budget_spent' });
    expect(delivery.ended_at).not.toBeNull();
    expect(letters).toMatchObject([
      {
        kind: 'delivery',
        event_key: publicationKey(ref, sha256),
        type: 'order.confirmed',
        code: 'budget_spent',
        message: 'gave up\uFFFD',
        input: '{}',
        effects: '[]',
        runs: ['run-1'],
        occurrences: 1,
        closed_at: null,
      },
    ]);
  });

  test('is written once for a run, and counted for another one', async () => {
    const ref = await stage.delivery(await stage.endpoint());
    await deadLetter(ref);
    const before = await stage.look(ref);
    expect(await deadLetter(ref)).toEqual({ changed: false, delivered: false });
    expect(await stage.look(ref)).toEqual(before);
    await stage.begun(ref, { runId: 'run-2' });
    expect(await deadLetter(ref, 'run-2', { code: 'http_400' })).toEqual({ changed: true, delivered: false });
    expect((await stage.look(ref)).letters).toMatchObject([
      { occurrences: 2, runs: ['run-1', 'run-2'], code: 'http_400' },
    ]);
  });

  test('leaves what is delivered alone', async () => {
    const ref = await stage.delivery(await stage.endpoint());
    await stage.end(ref, await stage.begun(ref), { ended: 'delivered' });
    const before = await stage.look(ref);
    expect(await deadLetter(ref)).toEqual({ changed: false, delivered: true });
    expect(await abandon(ref)).toEqual({ changed: false, delivered: true });
    expect(await stage.look(ref)).toEqual(before);
  });

  test('by a person closes the dead letter, and is not overwritten by a later one', async () => {
    const ref = await stage.delivery(await stage.endpoint());
    await deadLetter(ref);
    expect(await abandon(ref)).toEqual({ changed: true, delivered: false });
    const before = await stage.look(ref);
    expect(before.delivery).toMatchObject({ state: 'abandoned', abandoned_by: 'ann', abandoned_reason: 'no use' });
    expect(before.letters).toMatchObject([{ closed_by: 'abandon' }]);
    expect(await abandon(ref)).toEqual({ changed: false, delivered: false });
    expect(await deadLetter(ref, 'run-2')).toEqual({ changed: false, delivered: false });
    expect(await stage.look(ref)).toEqual(before);
  });

  test('of a delivery that the ledger does not have is a dead letter too', async () => {
    const ref = { tenant: '', endpoint: 'ep_none', publication: `none:${randomUUID()}` };
    expect(await deadLetter(ref)).toEqual({ changed: true, delivered: false });
    expect((await stage.look(ref)).letters).toHaveLength(1);
    expect(await abandon(ref)).toEqual({ changed: true, delivered: false });
    expect((await stage.look(ref)).letters).toMatchObject([{ closed_by: 'abandon' }]);
  });

  test('that a success has waited for is seen by it, though it is not in its snapshot', async () => {
    const ref = await stage.delivery(await stage.endpoint());
    const attempt = await stage.begun(ref);
    const success = await stage.ledger.database.transaction(
      async (_tx, sql) => {
        await endDelivery(sql, stage.ledger.schema, letterOf(ref));
        const ending = stage.end(ref, attempt, { ended: 'delivered' });
        await sleep(150);
        return { ending };
      },
      { statementTimeoutMs: 5_000, lockTimeoutMs: 5_000, idleTimeoutMs: 5_000 },
    );
    expect(await success.ending).toMatchObject({ delivered: true });
    const { delivery, letters } = await stage.look(ref);
    expect(delivery.state).toBe('delivered');
    expect(letters).toMatchObject([{ closed_by: 'delivery' }]);
  });

  test('and a success at the same moment leave one of the two, never both', async () => {
    for (let round = 0; round < 40; round++) {
      const ref = await stage.delivery(await stage.endpoint());
      const attempt = await stage.begun(ref);
      const [ended] = await Promise.all([deadLetter(ref), stage.end(ref, attempt, { ended: 'delivered' })]);
      const { delivery, letters } = await stage.look(ref);
      // Where the dead letter came first, the success lifted it.
      expect(delivery.state).toBe('delivered');
      expect(letters.filter(({ closed_at }) => closed_at === null)).toEqual([]);
      expect(letters).toHaveLength(ended.changed ? 1 : 0);
    }
  });
});

function letterOf({ tenant, endpoint, publication }: DeliveryRef) {
  return {
    tenant,
    endpoint,
    publication,
    deliveryKey: publicationKey({ tenant, endpoint, publication }, sha256),
    eventId: 'msg_1',
    type: 'order.confirmed',
    runId: 'run-1',
    input: '{}',
    outcome: 'dead_lettered' as const,
    code: 'budget_spent',
    message: 'gave up',
    reasons: '[]',
  };
}

function deadLetter(ref: DeliveryRef, runId = 'run-1', more: { message?: string; code?: string } = {}) {
  return endDelivery(stage.ledger.database.query, stage.ledger.schema, { ...letterOf(ref), runId, ...more });
}

function abandon(ref: DeliveryRef) {
  return endDelivery(stage.ledger.database.query, stage.ledger.schema, {
    ...letterOf(ref),
    outcome: 'abandoned',
    code: 'abandoned',
    message: 'no use',
    by: 'ann',
    reason: 'no use',
  });
}

/** Of a tenant, act identities are unique. */
function actId(ref: DeliveryRef, id: string): string {
  return `${id}/${publicationKey(ref, sha256)}`;
}

async function act(ref: DeliveryRef, id: string, kind: string): Promise<void> {
  const key = publicationKey(ref, sha256);
  await stage.sql(
    `INSERT INTO onefold.acts (tenant, id, kind, event_key, actor, reason, seen, outcome)
     VALUES ('', $1, $2, $3, 'ann', 'why', '{}', 'started')`,
    [actId(ref, id), kind, key],
  );
}

async function slotsHeld(endpoint: string): Promise<number> {
  const rows = await stage.sql('SELECT 1 FROM onefold.endpoint_slots WHERE endpoint = $1 AND held_by IS NOT NULL', [
    endpoint,
  ]);
  return rows.length;
}
