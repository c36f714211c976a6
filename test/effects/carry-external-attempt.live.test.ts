import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AttemptVanished, type OnStep } from '../../src/effects/attempt-steps.js';
import { buildEvent } from '../../src/effects/build-event.js';
import { carryExternalAttempt } from '../../src/effects/carry-external-attempt.js';
import type { PerformContext } from '../../src/effects/effect.js';
import { NotDoneError, PermanentError } from '../../src/effects/errors.js';
import type { AttemptNotice, ExternalAttemptEnd } from '../../src/effects/external-attempt.js';
import { forwardsKey, park, type Recovery, reconcile } from '../../src/effects/recovery.js';
import { OnefoldError } from '../../src/errors.js';
import { businessKey } from '../../src/identity/business-identity.js';
import type { Database } from '../../src/ledger/database.js';
import type { PgTransaction } from '../../src/ledger/pg-database.js';
import { shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
let order: string;
let calls: string[];
let notices: AttemptNotice[];
beforeAll(async () => {
  harness = await createHarness(
    { sources: [shop], effects: [] },
    { worker: false, setup: 'CREATE TABLE charges (order_id text, charge text)' },
  );
});
afterAll(() => harness.close());
beforeEach(() => {
  order = `order-${randomUUID()}`;
  calls = [];
  notices = [];
});

interface Given {
  readonly perform?: (context: PerformContext<unknown>) => Promise<unknown>;
  readonly recovery?: Recovery;
  readonly commit?: (context: {
    result: unknown;
    tx: { query(text: string, values: unknown[]): Promise<unknown> };
  }) => Promise<void>;
  readonly id?: string;
  readonly data?: object;
  readonly attempt?: number;
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly startedAt?: number;
  readonly onStep?: OnStep;
  readonly heartbeat?: number;
  readonly readEvent?: () => Promise<undefined>;
  readonly database?: Database<PgTransaction>;
}

/** One attempt at `charge-card` for an order. */
async function attempt(given: Given = {}): Promise<ExternalAttemptEnd> {
  const effect = shop.externalEffect('charge-card', {
    on: 'order.paid',
    businessKey: () => order,
    timeout: given.timeout ?? 5000,
    ...(given.heartbeat === undefined ? {} : { heartbeat: given.heartbeat }),
    recovery: (given.recovery ?? forwardsKey({ validFor: '1 day' })) as never,
    perform: async (context) => {
      calls.push(context.idempotencyKey);
      return ((await given.perform?.(context)) as never) ?? { charge: context.idempotencyKey };
    },
    ...(given.commit ? { commit: given.commit as never } : {}),
  });
  const id = given.id ?? 'evt-1';
  const event = (eventId: string, data: object) =>
    buildEvent(
      shop,
      { tenant: '', id: eventId, type: 'order.paid', receivedAt: new Date().toISOString() },
      JSON.stringify({ type: 'order.paid', data }),
    );
  return carryExternalAttempt({
    ledger: { ...harness.ledger, ...(given.database ? { database: given.database } : {}) },
    attempt: {
      effect,
      ...(await event(id, { order, ...given.data })),
      eventKey: `event//shop/${id}-${order}`,
      businessKey: businessKey(order),
      attempt: given.attempt ?? 1,
      owner: randomUUID(),
      startedAt: given.startedAt ?? Date.now(),
      timeoutMs: effect.policy.timeoutMs,
      nonRetryable: [],
      signal: given.signal ?? new AbortController().signal,
      readEvent:
        given.readEvent ??
        (async (key) => (await event(key.slice('event//shop/'.length, -order.length - 1), { order, from: key })).event),
      onNotice: (notice) => void notices.push(notice),
      ...(given.onStep ? { onStep: given.onStep } : {}),
    },
  });
}

/** An attempt that dies at a step: nothing more is written, and its lease runs out at once. */
async function vanish(step: string, given: Given = {}): Promise<void> {
  const dying = attempt({
    ...given,
    onStep: (at) => {
      if (at === step) throw new AttemptVanished(at);
    },
  });
  await expect(dying).rejects.toThrow(AttemptVanished);
  await expire();
}

/** What time does: the lease of the row is over, and what was sent has long arrived. */
const expire = (sinceMs = 3_600_000) =>
  harness.sql(
    `UPDATE onefold.effects SET lease_until = clock_timestamp() - make_interval(secs => $2::float8 / 1000),
            acting_until = clock_timestamp() - make_interval(secs => $2::float8 / 1000)
     WHERE business_key = $1 AND state IN ('claimed', 'unknown')`,
    [order, sinceMs],
  );
const row = async () =>
  (
    await harness.sql(
      'SELECT state, in_doubt, generation, fence::int, idempotency_key FROM onefold.effects WHERE business_key = $1',
      [order],
    )
  )[0];
const charges = async () => (await harness.sql('SELECT 1 FROM charges WHERE order_id = $1', [order])).length;
const commit: Given['commit'] = async ({ tx, result }) => {
  await tx.query('INSERT INTO charges (order_id, charge) VALUES ($1, $2)', [order, JSON.stringify(result)]);
};
const http = (status: number) => Object.assign(new Error(`HTTP ${status}`), { status });
const fail = (error: unknown) => async () => {
  throw error;
};

test('a call that returns is done with its result, together with its commit', async () => {
  const end = await attempt({ commit });
  expect(end).toMatchObject({ kind: 'ended', outcome: 'done', fence: 1 });
  expect(await row()).toMatchObject({ state: 'done', in_doubt: false });
  expect(await charges()).toBe(1);
});

test('a second event is told who did it, and with which result', async () => {
  await attempt();
  expect(await attempt({ id: 'evt-2' })).toMatchObject({
    kind: 'ended',
    outcome: 'already_done',
    doneBy: 'shop/evt-1',
    result: { json: `{"charge":"${calls[0]}"}` },
  });
  expect(calls).toHaveLength(1);
});

test('the same key with other data is said to have other data', async () => {
  await attempt();
  expect(await attempt({ id: 'evt-2', data: { amount: 7 } })).toMatchObject({
    outcome: 'already_done',
    otherData: true,
  });
});

test.each([401, 402, 403, 404, 422])(
  'HTTP %i proves that nothing was done: the next attempt has a new key',
  async (status) => {
    expect(await attempt({ perform: fail(http(status)) })).toMatchObject({
      kind: 'failed',
      detail: { code: `http_${status}` },
    });
    expect(await row()).toMatchObject({ state: 'released', in_doubt: false, generation: 2 });
    expect(await attempt({ attempt: 2 })).toMatchObject({ kind: 'ended', outcome: 'done' });
    expect(new Set(calls).size).toBe(2);
    expect(notices).toEqual([]);
  },
);

test.each([408, 409, 425, 429, 500, 503])(
  'HTTP %i is an unknown outcome: the next attempt keeps the key',
  async (status) => {
    expect(await attempt({ perform: fail(http(status)) })).toMatchObject({
      kind: 'failed',
      detail: { code: 'outcome_unknown', outcomeUnknown: true, counted: true },
    });
    expect(await row()).toMatchObject({ state: 'unknown', in_doubt: true, generation: 1 });
    expect(await attempt({ attempt: 2 })).toMatchObject({ kind: 'ended', outcome: 'done' });
    expect(new Set(calls).size).toBe(1);
    expect(notices).toMatchObject([{ kind: 'recovering', recovery: 'forwardsKey' }]);
  },
);

test('an unknown outcome says what its client wrapped, and hands it over for the log', async () => {
  const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
  const thrown = new TypeError('fetch failed', { cause });
  const message = expect.stringContaining('TypeError: fetch failed (UND_ERR_SOCKET)');
  expect(await attempt({ perform: fail(thrown) })).toMatchObject({ detail: { message }, thrown });
  order = `order-${randomUUID()}`;
  expect(await attempt({ perform: fail(thrown), recovery: park() })).toMatchObject({ kind: 'parked', message, thrown });
});

test('while in doubt, a proof speaks for its own attempt alone, and the key stays', async () => {
  await attempt({ perform: fail(http(500)) });
  await attempt({ attempt: 2, perform: fail(new PermanentError('unknown account')) });
  expect(await row()).toMatchObject({ state: 'unknown', in_doubt: true, generation: 1 });
  await attempt({ attempt: 3 });
  expect(new Set(calls).size).toBe(1);
});

test('a recipient that answers for the whole key settles it', async () => {
  await attempt({ perform: fail(http(500)) });
  await attempt({ attempt: 2, perform: fail(new NotDoneError('card declined', { settlesKey: true })) });
  expect(await row()).toMatchObject({ state: 'released', in_doubt: false, generation: 2 });
});

test.each(['after_claim', 'before_call', 'after_call', 'before_completion'])(
  'an attempt that vanishes %s leaves its key to the next one, of whatever event',
  async (step) => {
    await vanish(step);
    const end = await attempt({ id: 'evt-2', commit });
    expect(end).toMatchObject({ kind: 'ended', outcome: 'already_done', doneBy: 'shop/evt-1', fence: 2 });
    expect(new Set(calls).size).toBe(1);
    expect(await charges()).toBe(1);
  },
);

test('the recovery performs with the data of the event whose attempt vanished', async () => {
  await vanish('after_call');
  let seen: unknown;
  await attempt({
    id: 'evt-2',
    data: { amount: 7 },
    perform: async ({ event }) => {
      seen = (event as { id: string }).id;
    },
  });
  expect(seen).toBe('evt-1');
});

test('after the completion nothing is left to do', async () => {
  await vanish('after_completion');
  expect(await attempt({ attempt: 2 })).toMatchObject({ outcome: 'done', fence: 1 });
  expect(calls).toHaveLength(1);
});

test('while a lease runs, nobody else acts, and is told how long it may take', async () => {
  await attempt({
    perform: async () => {
      expect(await attempt({ id: 'evt-2' })).toMatchObject({
        kind: 'failed',
        detail: { code: 'claim_waiting', counted: false, waitAtMostMs: expect.any(Number) },
      });
    },
  });
  expect(calls).toHaveLength(1);
});

test('a key that the recipient may have forgotten is not sent again', async () => {
  await vanish('after_call', { recovery: forwardsKey({ validFor: '1 hour' }) });
  await harness.sql(
    `UPDATE onefold.effects SET key_since = clock_timestamp() - interval '59 minutes 58 seconds' WHERE business_key = $1`,
    [order],
  );
  const end = await attempt({ attempt: 2, recovery: forwardsKey({ validFor: '1 hour' }) });
  expect(end).toMatchObject({ kind: 'parked' });
  expect(calls).toHaveLength(1);
});

test('once the key is forgotten, the recipient is asked where it can be', async () => {
  await vanish('after_call');
  await harness.sql(
    `UPDATE onefold.effects SET key_since = clock_timestamp() - interval '2 days' WHERE business_key = $1`,
    [order],
  );
  const recovery = forwardsKey({ validFor: '1 day', reconcile: async () => ({ done: { charge: 'found' } }) });
  expect(await attempt({ attempt: 2, recovery, commit })).toMatchObject({
    outcome: 'done',
    result: { json: '{"charge":"found"}' },
  });
  expect(calls).toHaveLength(1);
  expect(await charges()).toBe(1);
});

test('absent counts only when the earlier attempt can no longer be under way', async () => {
  const recovery = reconcile(async () => 'absent', { settleAfter: '1 minute' });
  await vanish('after_call', { recovery });
  await expire(10_000);
  expect(await attempt({ attempt: 2, recovery })).toMatchObject({
    kind: 'failed',
    detail: { code: 'outcome_settling', counted: false, retryAfterMs: expect.any(Number) },
  });
  expect(calls).toHaveLength(1);
  await expire(61_000);
  expect(await attempt({ attempt: 3, recovery })).toMatchObject({ kind: 'ended', outcome: 'done' });
  expect(new Set(calls).size).toBe(1);
});

test('once absent is believed, a proof of the attempt that follows holds for the key', async () => {
  const recovery = reconcile(async () => 'absent', { settleAfter: '1 minute' });
  await vanish('after_call', { recovery });
  await attempt({ attempt: 2, recovery, perform: fail(http(404)) });
  expect(await row()).toMatchObject({ state: 'released', in_doubt: false, generation: 2 });
});

test.each([
  ['unknown', async () => 'unknown' as const],
  ['nothing known', async () => undefined as never],
  ['a failure', fail(http(503))],
])('a recipient that answers %s is asked again', async (_name, ask) => {
  const recovery = reconcile(ask);
  await vanish('after_call', { recovery });
  expect(await attempt({ attempt: 2, recovery })).toMatchObject({
    kind: 'failed',
    detail: { code: 'outcome_unknown', counted: true, outcomeUnknown: true },
  });
  expect(await row()).toMatchObject({ state: 'unknown' });
  expect(calls).toHaveLength(1);
});

test('park leaves it to a person, at once where the attempt itself knows', async () => {
  const recovery = park();
  expect(await attempt({ recovery, perform: fail(new Error('reset')) })).toMatchObject({ kind: 'parked' });
  expect(await attempt({ attempt: 2, recovery })).toMatchObject({ kind: 'parked' });
  expect(await attempt({ id: 'evt-2', recovery })).toMatchObject({ kind: 'parked' });
  expect(calls).toHaveLength(1);
});

test('a commit that fails does not undo the call: the next attempt does only the commit', async () => {
  const broken = async () => {
    throw new Error('constraint');
  };
  expect(await attempt({ commit: broken })).toMatchObject({ kind: 'failed', detail: { code: 'effect_threw' } });
  expect(await row()).toMatchObject({ state: 'performed' });
  expect(await attempt({ attempt: 2, commit })).toMatchObject({
    outcome: 'done',
    result: { json: `{"charge":"${calls[0]}"}` },
  });
  expect(calls).toHaveLength(1);
  expect(await charges()).toBe(1);
});

test('a zombie whose lease was taken writes nothing, and is recorded', async () => {
  let wake: () => void = () => {};
  const asleep = new Promise<void>((resolve) => {
    wake = resolve;
  });
  let called: () => void = () => {};
  const calling = new Promise<void>((resolve) => {
    called = resolve;
  });
  const zombie = attempt({
    commit,
    perform: async () => {
      called();
      await asleep;
      return { charge: 'late' };
    },
  });
  await calling;
  await expire();
  expect(await attempt({ id: 'evt-2', commit })).toMatchObject({ outcome: 'already_done', fence: 2 });
  wake();
  expect(await zombie).toMatchObject({ kind: 'failed', detail: { code: 'effect_superseded', counted: false } });
  expect(await charges()).toBe(1);
  expect(
    await harness.sql('SELECT ended, fence::int FROM onefold.superseded_attempts WHERE business_key = $1', [order]),
  ).toEqual([{ ended: 'performed', fence: 1 }]);
  expect(
    (await harness.sql('SELECT result FROM onefold.effects WHERE business_key = $1', [order]))[0]?.result,
  ).not.toContain('late');
});

test('an attempt that slept before its call, and whose claim was taken, does not call', async () => {
  const end = await attempt({
    onStep: async (step) => {
      if (step !== 'before_call') return;
      await expire();
      await attempt({ id: 'evt-2' });
      await sleep(1100);
    },
  });
  expect(end).toMatchObject({ kind: 'failed', detail: { code: 'effect_superseded' } });
  expect(calls).toHaveLength(1);
});

test('an attempt whose time is over claims nothing, and one that claimed gives back what it never used', async () => {
  await expect(attempt({ startedAt: Date.now() - 5001 })).rejects.toMatchObject({ code: 'attempt_timed_out' });
  expect(await row()).toBeUndefined();
  const late = await attempt({ timeout: 300, onStep: (step) => (step === 'before_call' ? sleep(400) : undefined) });
  expect(late).toMatchObject({ kind: 'failed', detail: { code: 'attempt_timed_out' } });
  expect(await row()).toMatchObject({ state: 'released', generation: 1 });
  expect(calls).toHaveLength(0);
});

test('code that ends on its signal ends its lease; code that does not keeps it', async () => {
  const stop = (): AbortSignal => AbortSignal.timeout(50);
  const listens = ({ signal }: PerformContext<unknown>) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await attempt({ perform: listens, signal: stop() });
  const left = async () =>
    (
      await harness.sql(`SELECT lease_until > clock_timestamp() AS runs FROM onefold.effects WHERE business_key = $1`, [
        order,
      ])
    )[0]?.runs;
  expect(await left()).toBe(false);
  order = `order-${randomUUID()}`;
  await attempt({ perform: () => new Promise(() => {}), signal: stop() });
  expect(await left()).toBe(true);
  expect(await row()).toMatchObject({ state: 'unknown', in_doubt: true });
});

test('a heartbeating attempt keeps its short lease as long as it runs', async () => {
  await attempt({
    heartbeat: 200,
    perform: async () => {
      await sleep(1200);
      expect(await attempt({ id: 'evt-2' })).toMatchObject({ kind: 'failed', detail: { code: 'claim_waiting' } });
    },
  });
  expect(await row()).toMatchObject({ state: 'done' });
});

describe('what another event takes over', () => {
  const amounts = async (given: Given): Promise<unknown[]> => {
    const seen: unknown[] = [];
    await attempt({
      ...given,
      perform: async ({ event }) => {
        seen.push((event as { id: string }).id);
      },
    });
    return seen;
  };

  test('under a forwarded key, the recorded data are sent again', async () => {
    await vanish('after_call');
    expect(await amounts({ id: 'evt-2', data: { amount: 7 } })).toEqual(['evt-1']);
  });

  test('the event whose work was finished is ended with it, and leaves the dead letters', async () => {
    const eventKey = `event//shop/evt-1-${order}`;
    await harness.sql(
      `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, received_at, remaining, state)
       VALUES ('', $1, 'shop', 'evt-1', 'order.paid', 'd', '{}', now(), 1, 'dead_lettered')`,
      [eventKey],
    );
    await harness.sql(`INSERT INTO onefold.event_effects VALUES ('', $1, 'charge-card', $2)`, [eventKey, order]);
    await harness.sql(
      `INSERT INTO onefold.dead_letters (tenant, event_key, source, event_id, type, code, message, input, effects, runs)
       VALUES ('', $1, 'shop', 'evt-1', 'order.paid', 'terminated', 'm', '{}', '[]', '{}')`,
      [eventKey],
    );
    await vanish('after_call');
    await attempt({ id: 'evt-2' });
    const [event] = await harness.sql('SELECT state, remaining FROM onefold.events WHERE event_key = $1', [eventKey]);
    expect(event).toEqual({ state: 'done', remaining: 0 });
    const [letter] = await harness.sql('SELECT closed_by FROM onefold.dead_letters WHERE event_key = $1', [eventKey]);
    expect(letter).toEqual({ closed_by: 'completion' });
  });

  test('once absent is believed, the effect is its own, with its own data', async () => {
    const recovery = reconcile(async () => 'absent');
    await vanish('after_call', { recovery });
    expect(await amounts({ id: 'evt-2', data: { amount: 7 }, recovery })).toEqual(['evt-2']);
    const [{ event } = { event: '' }] = await harness.sql('SELECT event FROM onefold.effects WHERE business_key = $1', [
      order,
    ]);
    expect(event).toBe('shop/evt-2');
  });

  test('where the recorded data cannot be read, other data never take their place', async () => {
    const gone = { id: 'evt-2', readEvent: async () => undefined };
    await attempt({ commit: fail(new Error('constraint')) });
    expect(await attempt({ ...gone, data: { amount: 7 }, commit })).toMatchObject({
      kind: 'failed',
      detail: { code: 'outcome_unknown', counted: true, permanent: false },
    });
    expect(await row()).toMatchObject({ state: 'performed' });
    expect(await attempt({ ...gone, commit })).toMatchObject({ outcome: 'already_done' });
    expect(calls).toHaveLength(1);
  });

  test('a schema that hangs on them holds no slot', async () => {
    await vanish('after_call');
    const signal = AbortSignal.timeout(100);
    const hanging = attempt({ id: 'evt-2', signal, readEvent: () => new Promise(() => {}) });
    expect(await hanging).toMatchObject({ kind: 'failed' });
    expect(await row()).toMatchObject({ state: 'unknown', in_doubt: true });
  });
});

test('a key that nobody forwarded is not relied on after a deploy that would forward it', async () => {
  await vanish('after_call', { recovery: reconcile(async () => 'unknown') });
  expect(await attempt({ attempt: 2, recovery: forwardsKey({ validFor: '1 day' }) })).toMatchObject({
    kind: 'parked',
    message: expect.stringContaining('without handing over the key'),
  });
  expect(calls).toHaveLength(1);
});

test('a retried commit gets the digits that the call returned', async () => {
  const seen: unknown[] = [];
  const charge = 12345678901234567890n;
  const perform = async () => ({ charge });
  const breaking: Given['commit'] = async ({ result }) => {
    seen.push(result);
    if (seen.length === 1) throw new Error('constraint');
  };
  await attempt({ perform, commit: breaking });
  const end = await attempt({ attempt: 2, perform, commit: breaking });
  expect(seen).toEqual([{ charge }, { charge }]);
  expect(end).toMatchObject({ outcome: 'done', result: { json: `{"charge":${charge}}` } });
});

describe('an answer of PostgreSQL that is lost', () => {
  /** A database whose next such statement takes hold, while its answer does not come. */
  const losing = (statement: RegExp): Database<PgTransaction> => {
    const { database } = harness.ledger;
    let lost = false;
    return {
      ...database,
      query: async (text, values) => {
        const result = await database.query(text, values);
        if (lost || !statement.test(text)) return result as never;
        lost = true;
        throw new OnefoldError('ledger_unavailable', 'the connection broke');
      },
    };
  };

  test('to a claim gives it back: a call that was never made is not unknown', async () => {
    await expect(attempt({ database: losing(/INSERT INTO \S+effects AS c/) })).rejects.toMatchObject({
      code: 'ledger_unavailable',
    });
    expect(await row()).toMatchObject({ state: 'released', in_doubt: false, generation: 1 });
    expect(await attempt({ attempt: 2, recovery: park() })).toMatchObject({ outcome: 'done' });
  });

  test.each<[string, RegExp, Given, object, string]>([
    [
      'of an unknown outcome',
      /SET state = 'unknown'/,
      { perform: fail(new Error('reset')) },
      { detail: { code: 'outcome_unknown' } },
      'unknown',
    ],
    [
      'of a release',
      /SET state = 'released'/,
      { perform: fail(new PermanentError('no')) },
      { detail: { code: 'permanent_error', permanent: true } },
      'released',
    ],
    [
      'of a park',
      /SET state = 'parked'/,
      { perform: fail(new Error('reset')), recovery: park() },
      { kind: 'parked' },
      'parked',
    ],
    [
      'of a kept result',
      /SET state = 'performed'/,
      { commit: fail(new Error('constraint')) },
      { detail: { code: 'effect_threw' } },
      'performed',
    ],
  ])('to the writing %s is not taken for a takeover', async (_what, statement, given, end, state) => {
    expect(await attempt({ ...given, database: losing(statement) })).toMatchObject(end);
    expect(await row()).toMatchObject({ state });
    expect(await harness.sql('SELECT 1 FROM onefold.superseded_attempts WHERE business_key = $1', [order])).toEqual([]);
  });
});

test('a heartbeating attempt keeps its lease while its commit is written', async () => {
  const slow: Given['commit'] = async () => {
    await sleep(1500);
    expect(await attempt({ id: 'evt-2', recovery: park() })).toMatchObject({ detail: { code: 'claim_waiting' } });
  };
  expect(await attempt({ heartbeat: 200, recovery: park(), commit: slow })).toMatchObject({ outcome: 'done' });
});

test('what is parked under running code keeps its lease, so that nobody speaks too early', async () => {
  await attempt({ recovery: park(), perform: () => new Promise(() => {}), signal: AbortSignal.timeout(50) });
  const [{ runs } = { runs: false }] = await harness.sql(
    'SELECT lease_until > clock_timestamp() AS runs FROM onefold.effects WHERE business_key = $1',
    [order],
  );
  expect(runs).toBe(true);
  expect(await row()).toMatchObject({ state: 'parked' });
});
