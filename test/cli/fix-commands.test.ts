import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.js';
import type { TracedEvent, TracedPublication, ValidAct } from '../../src/operations/trace/trace.js';
import { validActs } from '../../src/operations/trace/valid-acts.js';

const at = new Date('2026-02-03T04:05:06Z');

/** An event in each state that acts are offered for; what they are offered by is all that it needs. */
function event(more: object, claim?: object): TracedEvent {
  const effect = { effect: 'charge', businessKey: 'order 1', done: false, ...(claim ? { claim } : {}) };
  return {
    tenant: 'acme',
    eventKey: 'event/acme/shop/1',
    event: 'shop/1',
    source: 'shop',
    ledger: 'open',
    temporal: 'running',
    effects: [effect],
    deliveries: [],
    runs: [],
    deadLetters: [],
    superseded: [],
    acts: [],
    pauses: [],
    ...more,
  } as unknown as TracedEvent;
}

const claim = { state: 'claimed', eventKey: 'event/acme/shop/1', event: 'shop/1', leaseUntil: at, leaseRunning: false };
const pause = { kind: 'effect', name: 'charge', tenant: 'acme', everyTenant: false, by: 'ann', reason: 'r', at };
const pausing = { what: 'pause', text: 'pausing until later', at };
const events = [
  event({ ledger: 'dead_lettered', temporal: 'failed' }),
  event({ ledger: 'abandoned', temporal: 'completed' }),
  event({ ledger: 'ignored', temporal: 'forgotten' }),
  event({ runs: [{ steps: [pausing] }] }),
  event({}, { ...claim, state: 'parked' }),
  event({ pauses: [pause] }),
  event({ pauses: [{ ...pause, kind: 'source', name: 'shop', tenant: '', everyTenant: true }] }),
];
const publication = {
  tenant: 'acme',
  publication: 'order:1:confirmed:v1',
  deliveries: [
    ['queued', 'paused'],
    ['started', 'disabled'],
    ['started', 'enabled'],
    ['dead_lettered', 'enabled'],
    ['abandoned', 'enabled'],
  ].map(([state, endpointState], index) => ({ endpoint: `ep_${index}`, state, endpointState })),
} as unknown as TracedPublication;
const acts = validActs({ events, publications: [publication] }).filter(({ words }) => words !== undefined);

function commandOf({ words = [] }: ValidAct): Command {
  let command = createProgram('0');
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (!next) break;
    command = next;
  }
  return command;
}

test('acts of every kind are looked at', () => {
  expect([...new Set(acts.map(({ act }) => act))].sort()).toEqual([
    'abandon',
    'enable',
    'replay',
    'resolve',
    'resume',
    'retry_now',
  ]);
});

test.each(acts.map((act) => [act.words?.join(' ') ?? '', act] as const))(
  '`onefold %s` is a command, and takes what fix hands on',
  (_words, act) => {
    const command = commandOf(act);
    expect(command.parent).not.toBeNull();
    const known = command.options.map(({ long }) => long);
    const given = (act.words ?? []).filter((word) => word.startsWith('--'));
    expect(known).toEqual(expect.arrayContaining([...given, '--reason', '--by', '--yes', '--config', '--tenant']));
  },
);
