import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AttemptStep, AttemptVanished } from '../../src/effects/attempt-steps.js';
import { NotDoneError, PermanentError } from '../../src/effects/errors.js';
import { park, reconcile } from '../../src/effects/recovery.js';
import type { EventStatus, ProcessEventResult } from '../../src/workflows/contract.js';
import { startSteppingWorker } from '../faults/support/stepping-worker.js';
import { createGate } from '../hazards/support/gate.js';
import { nudged } from '../hazards/support/nudged.js';
import { orderPaid, shop } from '../hazards/support/shop.js';
import { until } from '../hazards/support/until.js';
import { type Configuration, createHarness, type Harness, resultOf } from '../setup/harness.js';

type Charge = { charge: number };

/** What happens at a step of an attempt, by effect; a throw is that of the attempt. */
let onStep: (step: AttemptStep, at: { effect: string; attempt: number }) => Promise<void> | void;
let perform: (effect: string, attempt: number) => Promise<Charge> | Charge;
let commit: () => void;
let told: { done: Charge } | 'absent' | 'unknown';
let attempts: number;
let asked: number;

const common = {
  on: 'order.paid',
  timeout: '5 seconds',
  heartbeat: '1 second',
  lease: '3 seconds',
  retry: { initialInterval: 50, maximumInterval: 100, maximumAttempts: 2, nonRetryableErrorTypes: ['Final'] },
  commit: async () => commit(),
} as const;
const ask = reconcile<Charge>(
  async () => {
    asked += 1;
    return told;
  },
  { settleAfter: 100 },
);
const external = (name: string, recovery: ReturnType<typeof park> | typeof ask, key = `${name}:`) =>
  shop.externalEffect(name, {
    ...common,
    businessKey: ({ data }) => `${key}${data.order}`,
    perform: async ({ attempt }) => perform(name, attempt),
    recovery,
  });
const effects = [
  external('ask', ask),
  external('ask-too', ask),
  external('parking', park()),
  external('same-a', park(), 'same:'),
  external('same-b', park(), 'same:'),
];
const configuration: Configuration = { sources: [shop], effects };

let harness: Harness;
let stop: () => Promise<void>;
beforeAll(async () => {
  harness = await createHarness(configuration, { worker: false });
  stop = await startSteppingWorker(harness, configuration, {
    onStep: async (step, at) => {
      if (step === 'before_claim') attempts += 1;
      await onStep(step, at);
    },
  });
});
afterAll(async () => {
  await stop?.();
  await harness?.close();
});
const running: WorkflowHandle[] = [];
beforeEach(() => {
  onStep = () => {};
  perform = () => ({ charge: 1 });
  commit = () => {};
  told = 'unknown';
  attempts = 0;
  asked = 0;
});
afterEach(async () => {
  for (const handle of running.splice(0)) await handle.terminate().catch(() => {});
});

const vanish = (step: AttemptStep): never => {
  throw new AttemptVanished(step);
};
const breakOff = (): never => {
  throw new Error('the connection broke');
};
const breakFinally = (): never => {
  throw Object.assign(new Error('the account is closed'), { name: 'Final' });
};
async function start(effectNames: readonly string[], order?: string, on: Harness = harness) {
  const event = orderPaid(order === undefined ? {} : { order }, { effects: effectNames });
  const handle = await on.start(event);
  running.push(handle);
  return { event, handle, order: order ?? event.id };
}
const phasesOf = async (handle: WorkflowHandle) =>
  Object.fromEntries(
    ((await handle.query('status')) as EventStatus).effects.map(({ effect, phase }) => [effect, phase]),
  );
const untilPhase = (handle: WorkflowHandle, effect: string, phase: string) =>
  until(`${effect} to be ${phase}`, async () => (await phasesOf(handle))[effect] === phase);
const lettersOf = (event: { id: string }, on: Harness = harness) =>
  on.sql('SELECT code, parked, message, effects, closed_by FROM onefold.dead_letters WHERE event_id = $1 ORDER BY id', [
    event.id,
  ]);
const untilListed = (event: { id: string }, on: Harness = harness) =>
  until('its entry', async () => (await lettersOf(event, on)).some(({ closed_by }) => closed_by === null));
const outcomesIn = (letter: Record<string, any> | undefined) =>
  Object.fromEntries(
    (JSON.parse(letter?.effects ?? '[]') as { effect: string; outcome: string }[]).map((one) => [
      one.effect,
      one.outcome,
    ]),
  );
const stateOf = async (businessKey: string) =>
  (await harness.sql('SELECT state FROM onefold.effects WHERE business_key = $1', [businessKey]))[0]?.state;

test.each(['ask', 'parking'])(
  "attempts of '%s' that vanish before their claim spend the budget, and end it as a dead letter",
  async (effect) => {
    onStep = (step) => (step === 'before_claim' ? vanish(step) : undefined);
    const { event, handle } = await start([effect]);
    await expect(resultOf(handle)).rejects.toMatchObject({ cause: { type: 'budget_spent' } });
    expect(attempts).toBe(2);
    expect(await lettersOf(event)).toMatchObject([
      {
        code: 'budget_spent',
        parked: false,
        message: expect.stringMatching(/: attempt_timed_out: the attempt vanished before claim$/),
      },
    ]);
  },
);

test('a last attempt that vanishes after its claim parks its effect when the lease is over, without another attempt', async () => {
  perform = breakOff;
  onStep = (step, { attempt }) => (attempt === 2 && step === 'after_claim' ? vanish(step) : undefined);
  const { event, handle } = await start(['ask']);
  await untilPhase(handle, 'ask', 'waiting');
  expect(await stateOf(`ask:${event.id}`)).toBe('claimed');
  expect(await lettersOf(event)).toEqual([]);
  await untilPhase(handle, 'ask', 'parked');
  expect(await stateOf(`ask:${event.id}`)).toBe('parked');
  expect(attempts).toBe(2);
});

test('a last attempt that vanishes after its completion is done', async () => {
  let left = 1;
  onStep = (step, { attempt }) => {
    if (attempt === 1 && step === 'before_claim') vanish(step);
    if (step === 'after_completion' && left-- > 0) vanish(step);
  };
  const { event, handle } = await start(['ask']);
  expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 3 }] });
  expect(await lettersOf(event)).toEqual([]);
});

test('what another event has done is looked for once more, and not for ever, when attempts vanish through the budget', async () => {
  const { handle: first, order } = await start(['ask']);
  await resultOf(first);
  attempts = 0;
  onStep = (step) => (step === 'before_claim' ? vanish(step) : undefined);
  const { handle } = await start(['ask'], order);
  await expect(resultOf(handle)).rejects.toMatchObject({ cause: { type: 'budget_spent' } });
  expect(attempts).toBe(3);

  attempts = 0;
  onStep = (step, { attempt }) => (step === 'before_claim' && attempt < 3 ? vanish(step) : undefined);
  const { handle: third } = await start(['ask'], order);
  expect(await resultOf(third)).toMatchObject({ outcome: 'already_done', effects: [{ attempts: 3 }] });
});

test('a call whose commit failed through the budget ends with that failure, although its last attempt vanished', async () => {
  commit = breakOff;
  onStep = (step, { attempt }) => (attempt === 2 && step === 'before_completion' ? vanish(step) : undefined);
  const { event, handle } = await start(['parking']);
  await expect(resultOf(handle)).rejects.toMatchObject({ cause: { type: 'budget_spent' } });
  expect(attempts).toBe(2);
  expect(await lettersOf(event)).toMatchObject([{ code: 'budget_spent', parked: false }]);
});

test('an unknown outcome is left to a person although the last attempt failed without coming to it', async () => {
  perform = breakOff;
  onStep = (step, { attempt }) => (attempt === 2 && step === 'before_claim' ? breakOff() : undefined);
  const { event, handle } = await start(['ask']);
  await untilPhase(handle, 'ask', 'parked');
  await untilListed(event);
  expect(await stateOf(`ask:${event.id}`)).toBe('parked');
});

test('the final failure of one event leaves the doubt of another event about the same effect alone', async () => {
  const gate = createGate();
  const order = randomUUID();
  perform = breakOff;
  onStep = async (step, { attempt }) => {
    if (attempt === 2 && step === 'before_claim') await gate.pass();
  };
  const { handle } = await start(['ask'], order);
  await gate.reached;
  onStep = (step) => (step === 'before_claim' ? breakFinally() : undefined);
  const other = await start(['ask'], order);
  await expect(resultOf(other.handle)).rejects.toMatchObject({ cause: { type: 'effect_threw' } });
  expect(await stateOf(`ask:${order}`)).toBe('unknown');
  onStep = () => {};
  told = { done: { charge: 5 } };
  gate.open();
  expect(await resultOf(handle)).toMatchObject({ outcome: 'done' });
});

test('a final error whose outcome is unknown is asked about before anybody gives up', async () => {
  perform = breakFinally;
  told = { done: { charge: 7 } };
  const { handle } = await start(['ask']);
  expect(await resultOf(handle)).toMatchObject({
    outcome: 'done',
    effects: [{ attempts: 2, result: { json: '{"charge":7}' } }],
  });
  expect(asked).toBe(1);
});

test('what a person has resolved before it was written down as parked goes on, and is never listed', async () => {
  perform = (_effect, attempt) => (attempt === 1 ? breakOff() : { charge: 2 });
  const id = randomUUID();
  // The activity that writes it down reads the claim first, and a person has been quicker.
  await harness.sql(`CREATE FUNCTION resolve_at_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.state = 'parked' AND NEW.business_key = 'parking:${id}' THEN
        NEW.state := 'released'; NEW.generation := 2; NEW.in_doubt := false; NEW.lease_until := NULL;
      END IF; RETURN NEW; END $$`);
  await harness.sql(
    'CREATE TRIGGER resolve_at_once BEFORE UPDATE ON onefold.effects FOR EACH ROW EXECUTE FUNCTION resolve_at_once()',
  );
  try {
    const { event, handle } = await start(['parking'], id);
    expect(await resultOf(handle)).toMatchObject({ outcome: 'done', effects: [{ attempts: 2 }] });
    expect(await lettersOf(event)).toEqual([]);
  } finally {
    await harness.sql('DROP TRIGGER resolve_at_once ON onefold.effects');
  }
});

test('an effect that became external and parks under a running event waits for a person', async () => {
  const local = shop.effect('moved', {
    on: 'order.paid',
    retry: { initialInterval: 50, maximumInterval: 50 },
    businessKey: ({ data }) => `moved:${data.order}`,
    commit: breakOff,
  });
  const before: Configuration = { sources: [shop], effects: [local] };
  const own = await createHarness(before, { worker: false });
  try {
    const old = await own.worker();
    const { event, handle } = await start(['moved'], undefined, own);
    await until(
      'a failed attempt',
      async () => ((await handle.query('status')) as EventStatus).effects[0]?.lastFailure,
    );
    await old.stop();
    perform = breakOff;
    await own.worker({ sources: [shop], effects: [external('moved', park())] });
    await untilListed(event, own);
    await untilPhase(handle, 'moved', 'parked');
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await handle.terminate();
  } finally {
    await own.close();
  }
});

test('a sibling that fails while an effect is parked is told in the entry that the event has', async () => {
  const gate = createGate();
  perform = async (effect) => {
    if (effect === 'parking') return breakOff();
    await gate.pass();
    throw new PermanentError('the account is closed');
  };
  const { event, handle } = await start(['parking', 'ask']);
  await untilListed(event);
  expect(outcomesIn((await lettersOf(event))[0])).toEqual({ parking: 'parked', ask: 'open' });
  gate.open();
  await untilPhase(handle, 'ask', 'ended');
  const [letter] = await until('the entry to tell it', async () => {
    const letters = await lettersOf(event);
    return outcomesIn(letters[0]).ask === 'failed' && letters;
  });
  expect(letter).toMatchObject({ code: 'effect_parked', parked: true, closed_by: null });
  expect(letter?.message).toMatch(/^parking: .*waits for a person.*; ask failed: the account is closed$/);
  expect(outcomesIn(letter)).toEqual({ parking: 'parked', ask: 'failed' });
});

test('the entry of an event names every effect of it that is parked', async () => {
  const gate = createGate();
  perform = async (effect) => {
    if (effect === 'ask') await gate.pass();
    return breakOff();
  };
  const { event, handle } = await start(['parking', 'ask', 'ask-too']);
  await untilListed(event);
  gate.open();
  await untilPhase(handle, 'ask', 'parked');
  await untilPhase(handle, 'ask-too', 'parked');
  const [letter, ...others] = await until('the entry to tell all', async () => {
    const letters = await lettersOf(event);
    return Object.values(outcomesIn(letters[0])).every((outcome) => outcome === 'parked') && letters;
  });
  expect(others).toEqual([]);
  for (const effect of ['parking', 'ask', 'ask-too']) {
    expect(letter?.message).toMatch(new RegExp(`(^|; )${effect}: `));
  }
  const [{ occurrences, runs } = {}] = await harness.sql(
    'SELECT occurrences, runs FROM onefold.dead_letters WHERE event_id = $1',
    [event.id],
  );
  expect({ occurrences, runs }).toEqual({ occurrences: 1, runs: [] });
});

test('an entry that was lost is there again after the next look', async () => {
  perform = breakOff;
  const { event, handle } = await start(['parking']);
  await untilListed(event);
  // As the look of a sibling does that read before this one had parked.
  await harness.sql("UPDATE onefold.dead_letters SET closed_at = now(), closed_by = 'resolve' WHERE event_id = $1", [
    event.id,
  ]);
  await nudged([handle], () => untilListed(event));
  expect(await phasesOf(handle)).toEqual({ parking: 'parked' });
});

test('an abandon says which of two effects with one business key may have taken hold, and not that of both', async () => {
  perform = (effect) => {
    throw effect === 'same-a'
      ? new NotDoneError('busy', { retryAfter: '1 minute' })
      : new Error('the connection broke');
  };
  const { event, handle } = await start(['same-a', 'same-b']);
  await untilListed(event);
  await until('the release', async () => {
    const rows = await harness.sql(
      'SELECT effect, state FROM onefold.effects WHERE business_key = $1 ORDER BY effect',
      [`same:${event.id}`],
    );
    return rows.map(({ state }) => state).join() === 'released,parked';
  });
  const answer = (await handle.executeUpdate('abandon', {
    args: [{ by: 'ann', reason: 'the customer left' }],
  })) as Pick<ProcessEventResult, 'effects'>;
  const codes = Object.fromEntries(answer.effects.map(({ effect, code }) => [effect, code]));
  expect(codes).toEqual({ 'same-a': undefined, 'same-b': 'outcome_unknown' });
});
