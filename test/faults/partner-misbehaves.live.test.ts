import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../hazards/support/until.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import {
  type CarriedEvent,
  carriedEvent,
  judge,
  operationsOf,
  type Partners,
  resolveByTruth,
  untilSettled,
  type Verdict,
} from './support/carried-event.js';
import { carrierEffects, labelsTable, type RecoveryKind, recoveries } from './support/carrier.js';
import type { Behaviour } from './support/partner.js';
import { startPartners } from './support/three-partners.js';

/** The partner acts so late after the call: the attempt is over by then, and its lease. */
const lateMs = 6500;
/** Against hanging only. */
const hangsAfterMs = 300_000;
const patience = { timeout: '5 seconds', settleAfter: '5 seconds' };

interface Misbehaviour {
  readonly what: string;
  readonly behaviours: readonly Behaviour[];
  /** Questions to which the partner says that it cannot tell. */
  readonly quiet?: number;
  /** Nobody but the partner knows whether it acted. */
  readonly doubt: boolean;
}

const misbehaviours: readonly Misbehaviour[] = [
  { what: 'acts, then drops the connection', behaviours: [{ kind: 'drop', acts: true }], doubt: true },
  { what: 'drops the connection', behaviours: [{ kind: 'drop', acts: false }], doubt: true },
  { what: 'acts, then answers 500', behaviours: [{ kind: 'answer', status: 500, acts: true }], doubt: true },
  { what: 'answers 503', behaviours: [{ kind: 'answer', status: 503, acts: false }], doubt: true },
  { what: 'acts, then answers 409', behaviours: [{ kind: 'answer', status: 409, acts: true }], doubt: true },
  { what: 'acts, then hangs', behaviours: [{ kind: 'hang', acts: true }], doubt: true },
  { what: 'hangs', behaviours: [{ kind: 'hang', acts: false }], doubt: true },
  { what: 'acts after the caller left', behaviours: [{ kind: 'delay', ms: lateMs }], doubt: true },
  { what: 'acts in time, late', behaviours: [{ kind: 'delay', ms: 500 }], doubt: false },
  { what: 'refuses with 422', behaviours: [{ kind: 'answer', status: 422, acts: false }], doubt: false },
  {
    what: 'acts, drops the connection, and cannot tell at first',
    behaviours: [{ kind: 'drop', acts: true }],
    quiet: 2,
    doubt: true,
  },
  {
    what: 'drops two calls, and answers the third with 500 after acting',
    behaviours: [
      { kind: 'drop', acts: false },
      { kind: 'drop', acts: false },
      { kind: 'answer', status: 500, acts: true },
    ],
    doubt: true,
  },
];

let partners: Partners & { close(): Promise<void> };
let harness: Harness;
const verdicts = new Map<string, Verdict>();
const nameOf = (what: string, recovery: RecoveryKind): string => `${recovery}: ${what}`;

// All at once, since what each of them does most of the time is wait.
beforeAll(async () => {
  partners = await startPartners();
  const { forwardsKey, reconcile, park } = partners;
  const urls = { forwardsKey: forwardsKey.url, reconcile: reconcile.url, park: park.url };
  const configuration = carrierEffects(urls, patience);
  harness = await createHarness(configuration, { setup: labelsTable });
  const context = operationsOf(harness, configuration);
  const events: CarriedEvent[] = misbehaviours.flatMap(({ what, behaviours, quiet }) =>
    recoveries.map((recovery) => {
      const event = carriedEvent(nameOf(what, recovery), recovery);
      for (const behaviour of behaviours) partners[recovery].tell(event.businessKey, behaviour);
      if (quiet !== undefined) partners[recovery].keepQuiet(event.businessKey, quiet);
      return event;
    }),
  );
  const handles = await Promise.all(events.map(({ event }) => harness.start(event)));
  const everParked = new Set<string>();
  for (;;) {
    const parked = await untilSettled(harness, events);
    for (const name of parked) everParked.add(name);
    if (parked.size === 0) break;
    // A person who looks too early sees a partner that has not acted yet.
    await sleep(lateMs);
    for (const event of events) if (parked.has(event.name)) await resolveByTruth(context, partners, event);
    await Promise.all(events.filter(({ name }) => parked.has(name)).map((event) => leftPark(harness, event)));
  }
  await Promise.all(handles.map(resultOf));
  for (const event of events) {
    verdicts.set(event.name, { ...(await judge(harness, partners, event)), parked: everParked.has(event.name) });
  }
}, hangsAfterMs);
afterAll(async () => {
  await harness?.close();
  await partners?.close();
});

/** Waits until an event that was resolved is done, or parked again by its next attempt. */
async function leftPark(harness: Harness, { businessKey }: CarriedEvent): Promise<void> {
  await until('the attempt after the resolution', async () => {
    const [row] = await harness.sql<{ state: string }>('SELECT state FROM onefold.effects WHERE business_key = $1', [
      businessKey,
    ]);
    return row?.state === 'done' || row?.state === 'parked';
  });
}

test.each(misbehaviours.flatMap(({ what, doubt }) => recoveries.map((recovery) => [what, recovery, doubt] as const)))(
  'a partner that %s takes one effect under %s',
  (what, recovery, doubt) => {
    expect(verdicts.get(nameOf(what, recovery))).toEqual({
      taken: 1,
      ledger: ['done'],
      labels: 1,
      parked: doubt && recovery === 'park',
      event: 'done',
      openDeadLetters: 0,
    });
  },
);
