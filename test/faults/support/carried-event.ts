import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { inject } from 'vitest';
import type { AttemptStep } from '../../../src/effects/attempt-steps.js';
import { createCatalogue } from '../../../src/effects/catalogue.js';
import type { OperationsContext } from '../../../src/operations/context.js';
import { resolveEffect } from '../../../src/operations/resolve-effect.js';
import { decideStart, type StartDecision } from '../../../src/receiver/start-decision.js';
import { until } from '../../hazards/support/until.js';
import type { Configuration, Harness, TestEvent } from '../../setup/harness.js';
import { businessKeyOf, effectNames, type RecoveryKind } from './carrier.js';
import type { Partner } from './partner.js';

/** One partner for each recovery; only that of `forwardsKey` dedupes. */
export type Partners = Readonly<Record<RecoveryKind, Partner>>;

/** An event with one effect, and the name of what happens to it. */
export interface CarriedEvent {
  readonly name: string;
  readonly recovery: RecoveryKind;
  readonly businessKey: string;
  readonly event: TestEvent;
}

/** What became of the effect of one event. */
export interface Verdict {
  /** Effects that the partner took for the business identity. */
  readonly taken: number;
  /** Rows of the ledger for it, by state. */
  readonly ledger: readonly string[];
  /** Business rows, written by the effect's `commit`. */
  readonly labels: number;
  /** The event waited for a person. */
  readonly parked: boolean;
  readonly event: string;
  readonly openDeadLetters: number;
}

/** @param step Where a held worker halts its first attempt; the id says it. */
export function carriedEvent(name: string, recovery: RecoveryKind, step?: AttemptStep): CarriedEvent {
  const id = step === undefined ? randomUUID() : `${step}:${randomUUID()}`;
  const type = `order.${recovery}`;
  const body = { type, data: { order: id } };
  const event = { source: 'carrier', id, type, effects: [effectNames[recovery]], body };
  return { name, recovery, businessKey: businessKeyOf(id), event };
}

/** What operations on the events of a harness stand on. */
export function operationsOf(harness: Harness, { sources, effects }: Configuration): OperationsContext {
  return {
    catalogue: createCatalogue(sources, effects),
    client: harness.client,
    namespace: 'default',
    temporal: { address: inject('temporalAddress') },
    taskQueue: harness.taskQueue,
    ledger: harness.ledger,
    log: pino({ level: 'silent' }),
    metrics: harness.metrics,
  };
}

/** Makes one delivery, decided as the receiver decides it. @throws where it is not what was expected. */
export async function deliver(
  harness: Harness,
  event: TestEvent,
  expected?: StartDecision['path'],
): Promise<StartDecision['path']> {
  const { path } = await decideStart(harness.client, {
    eventKey: harness.key(event) as never,
    event: `${event.source}/${event.id}`,
    input: harness.input(event),
    taskQueue: harness.taskQueue,
    registered: new Set(),
    refuseOtherBody: true,
  });
  if (expected !== undefined && path !== expected) throw new Error(`the delivery was ${path}, expected ${expected}`);
  return path;
}

/** Waits until every event is done or waits for a person. @returns Names of those that wait for one. */
export async function untilSettled(harness: Harness, events: readonly CarriedEvent[]): Promise<ReadonlySet<string>> {
  const parked = new Set<string>();
  const done = new Set<string>();
  const open = (): readonly CarriedEvent[] => events.filter(({ name }) => !done.has(name) && !parked.has(name));
  await until(
    'every event to be done or parked',
    async () => {
      const rows = await harness.sql<{ event_key: string; state: string; parked: boolean }>(
        `SELECT e.event_key, e.state, coalesce(d.parked, false) AS parked
         FROM onefold.events e LEFT JOIN onefold.dead_letters d
           ON d.tenant = e.tenant AND d.event_key = e.event_key AND d.closed_at IS NULL`,
      );
      for (const { name, event } of events) {
        const row = rows.find(({ event_key }) => event_key === harness.key(event));
        if (row?.state === 'done') done.add(name);
        if (row?.parked) parked.add(name);
      }
      return open().length === 0;
    },
    180_000,
  ).catch((error: Error) => {
    const why = open().map(({ name, event }) => `${name}: ${lastLines(harness, event)}`);
    throw new Error(`${error.message}\n${why.join('\n')}`);
  });
  return parked;
}

function lastLines(harness: Harness, event: TestEvent): string {
  const lines = harness.lines.filter(({ eventKey }) => eventKey === harness.key(event));
  return lines
    .slice(-5)
    .map(({ msg, code }) => `${msg} ${String(code ?? '')}`)
    .join('; ');
}

/** A person looks at the partner and says what is true. */
export async function resolveByTruth(
  context: OperationsContext,
  partners: Partners,
  { recovery, businessKey }: CarriedEvent,
): Promise<void> {
  const [found] = partners[recovery].taken(businessKey);
  await resolveEffect(
    context,
    { effect: effectNames[recovery], businessKey },
    found ? { outcome: 'done', result: { id: found.id, business: businessKey } } : { outcome: 'absent' },
    { by: 'a test', reason: 'asked the partner' },
  );
}

/** Counts what was done for an event, at the partner and in the database. */
export async function judge(
  harness: Harness,
  partners: Partners,
  { recovery, businessKey, event }: CarriedEvent,
): Promise<Omit<Verdict, 'parked'>> {
  const key = harness.key(event);
  const [rows, labels, states, letters] = await Promise.all([
    harness.sql<{ state: string }>('SELECT state FROM onefold.effects WHERE business_key = $1', [businessKey]),
    harness.sql('SELECT 1 FROM labels WHERE business_key = $1', [businessKey]),
    harness.sql<{ state: string }>('SELECT state FROM onefold.events WHERE event_key = $1', [key]),
    harness.sql('SELECT 1 FROM onefold.dead_letters WHERE event_key = $1 AND closed_at IS NULL', [key]),
  ]);
  return {
    taken: partners[recovery].taken(businessKey).length,
    ledger: rows.map(({ state }) => state),
    labels: labels.length,
    event: states[0]?.state ?? 'unknown',
    openDeadLetters: letters.length,
  };
}
