import { expect, test } from 'vitest';
import { judge } from '../../../src/operations/trace/suspects.js';
import type { TracedEffect, TracedEvent } from '../../../src/operations/trace/trace.js';
import { validActs } from '../../../src/operations/trace/valid-acts.js';

const at = new Date('2026-02-03T04:05:06Z');
const claim: NonNullable<TracedEffect['claim']> = {
  tenant: '',
  effect: 'charge',
  businessKey: 'order:1',
  state: 'done',
  fence: 1,
  eventKey: 'event//shop/1',
  event: 'shop/1',
  claimedAt: at,
  doneAt: at,
  leaseUntil: null,
  leaseRunning: false,
  inDoubt: false,
  generation: 1,
  idempotencyKey: 'key',
  keySince: at,
  resultBytes: null,
  adoptedBy: null,
  newestVersion: null,
  newestEvent: null,
};
const attempt = { at, what: 'attempt', text: '', effect: 'charge', attempt: 1, outcome: 'done', fence: 1 } as const;
const run = { runId: 'run', startedAt: at, status: 'completed', planned: true, steps: [attempt], cut: false } as const;
const act = { tenant: '', key: 'event//shop/1', id: 'a', by: 'ann', reason: 'r', at, seen: '{}', outcome: 'started' };

function event(more: Partial<TracedEvent> = {}, claimed: Partial<typeof claim> = {}): TracedEvent {
  const whole = { ...claim, ...claimed };
  return {
    tenant: '',
    eventKey: 'event//shop/1',
    event: 'shop/1',
    source: 'shop',
    ledger: 'done',
    temporal: 'completed',
    effects: [{ effect: 'charge', businessKey: 'order:1', claim: whole, done: whole.state === 'done' }],
    deliveries: [],
    runs: [run],
    deadLetters: [],
    superseded: [],
    acts: [],
    pauses: [],
    ...more,
  };
}
const codes = (one: TracedEvent, looked = true): string[] =>
  judge({ events: [one], claims: [], publications: [], looked, now: at }).map(({ code }) => code);
const acts = (one: TracedEvent): string[] => validActs({ events: [one], publications: [] }).map((valid) => valid.act);

test('one call and one completion is once, and nothing else', () => {
  expect(codes(event())).toEqual(['once']);
});

test('without its histories an external effect is not called once', () => {
  expect(codes(event({ runs: [], temporal: 'not_asked' }), false)).toEqual(['one_key']);
  expect(codes(event({ runs: [run, { ...run, steps: [{ ...attempt, outcome: 'failed' }] }] }))).toEqual(['one_key']);
});

test.each<[string, TracedEvent]>([
  ['several_keys', event({}, { generation: 2 })],
  [
    'superseded',
    event({
      superseded: [
        {
          tenant: '',
          eventKey: 'event//shop/1',
          effect: 'charge',
          businessKey: 'order:1',
          attempt: 1,
          ended: 'performed',
          at,
        },
      ],
    }),
  ],
  ['unknown_recovered', event({ runs: [{ ...run, steps: [{ ...attempt, code: 'outcome_unknown' }, attempt] }] })],
  ['said_absent', event({ acts: [{ ...act, kind: 'resolve', outcome: 'absent', at: new Date(at.getTime() - 1) }] })],
  ['said_done', event({ acts: [{ ...act, kind: 'resolve', outcome: 'done' }] })],
  [
    'rekeyed',
    event({
      acts: [
        {
          ...act,
          kind: 'replay',
          seen: '{"steps":[{"effect":"charge","businessKey":"order:2","rekeyedFrom":"order:1"}]}',
        },
      ],
    }),
  ],
  ['adopted', event({}, { adoptedBy: 'a' })],
  ['parked', event({}, { state: 'parked' })],
  ['run_lost', event({ ledger: 'open', temporal: 'forgotten', runs: [] }, { state: 'unknown' })],
  ['states_differ', event({ ledger: 'open', temporal: 'completed' }, { state: 'unknown' })],
])('%s is named', (code, one) => {
  expect(codes(one)).toContain(code);
  if (code !== 'rekeyed') expect(codes(one)).not.toContain('once');
});

test('only what is valid is offered, as a command to copy', () => {
  expect(acts(event())).toEqual([]);
  const dead = event({ ledger: 'dead_lettered', temporal: 'failed', event: "shop/it's" }, { state: 'released' });
  expect(acts(dead)).toEqual(['replay', 'abandon']);
  expect(validActs({ events: [dead], publications: [] })[0]?.command).toBe(
    `onefold replay 'shop/it'\\''s' --reason '…'`,
  );
  const parked = event({ ledger: 'open', temporal: 'running' }, { state: 'parked' });
  expect(acts(parked)).toEqual(['resolve', 'resolve', 'abandon']);
  expect(acts(event({ ledger: 'open', temporal: 'running' }, { state: 'claimed', leaseRunning: true }))).toEqual([
    'wait',
    'wait',
    'abandon',
  ]);
  expect(acts(event({ ledger: 'abandoned', temporal: 'completed' }, { state: 'released' }))).toEqual(['replay']);
});
