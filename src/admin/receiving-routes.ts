import { type AdminRoute, paged, wish } from './admin-route.js';

/** What acts on an event that was received share. */
const dryRun = { dryRun: 'true: only say what would be done, and where its effects stand' };

/** Routes about what was received, what ended without its effect, and what people did. */
export const receivingRoutes = [
  {
    name: 'listEvents',
    method: 'GET',
    path: '/v1/events',
    access: 'read',
    status: 200,
    does: 'Lists events, those received last first.',
    query: {
      source: 'of this source',
      type: 'the exact type',
      state:
        '`received` (no worker has planned it yet; of the last day unless `since` is given), `open`, `parked`, `done`, ' +
        '`dead_lettered`, `abandoned` or `ignored`',
      businessKey: 'with an effect under exactly this key',
      effect: 'with this effect, by its present name or a former one',
      code: 'with an open dead letter of this code',
      since: 'received at or after, such as `2026-02-03T04:05:06Z`',
      until: 'received before',
      ...paged,
    },
    answer: '`{ items, next? }`',
  },
  {
    name: 'showEvent',
    method: 'GET',
    path: '/v1/events/:source/:id',
    access: 'read',
    status: 200,
    does: 'Shows where an event stands, in the ledger and in Temporal.',
    answer: '`{ event, ledger, temporal, effects, status?, deadLetter?, deliveries, … }`',
  },
  {
    name: 'replayEvent',
    method: 'POST',
    path: '/v1/events/:source/:id/replay',
    access: 'act',
    status: 202,
    does: 'Runs an event again that has ended: what is done stays done, the rest is performed.',
    body: {
      effect: 'run only this one, which subscribed to the type after the event was done',
      rekey: 'true: effects that have not ended take the business keys that the code computes now',
      ...dryRun,
      ...wish,
    },
    needs: ['reason'],
    answer: '`{ id, outcome, runId?, state, steps, … }`; 200 where nothing was started',
  },
  {
    name: 'retryEventNow',
    method: 'POST',
    path: '/v1/events/:source/:id/retry-now',
    access: 'act',
    status: 202,
    does: 'Ends the pause of a running event between two attempts. It spends the attempt as it would have later.',
    body: { effect: 'only this effect of it', ...dryRun, ...wish },
    needs: ['reason'],
    answer: '`{ id, outcome, found?, … }`; 200 where it was told before, or for a dry run',
  },
  {
    name: 'abandonEvent',
    method: 'POST',
    path: '/v1/events/:source/:id/abandon',
    access: 'act',
    status: 200,
    does:
      'Gives an event up, once the attempt that is being made has ended, and closes its dead letter. Redeliveries complete ' +
      'as abandoned; only a replay takes it up again.',
    body: { ...dryRun, ...wish },
    needs: ['reason'],
    answer: '`{ id, outcome, state, effects, abandoned?, … }`, state and effects being those before',
  },
  {
    name: 'traceIdentity',
    method: 'GET',
    path: '/v1/trace',
    access: 'read',
    status: 200,
    does:
      'Tells everything that is known of an event, a business key or a publication as one story, with what to suspect and ' +
      'what may be done. It waits for Temporal two seconds at most.',
    query: {
      identity:
        '`source/event-id`, an event id, a workflow ID, a business key, a publication, a `webhook-id`, or a part of one',
      effect: 'the identity is the business key of this effect',
      temporal: '`false`: only the ledger is asked',
      limit: 'events of one business key, the newest, 1 to 50; 50 by default',
    },
    needs: ['identity'],
    answer:
      '`{ outcome: "traced", events, claims, publications, suspects, next, timeline, … }`, or `{ outcome: "ambiguous", ' +
      'choices, part, more }` where the name may mean several things',
  },
  {
    name: 'listDeadLetters',
    method: 'GET',
    path: '/v1/dead-letters',
    access: 'read',
    status: 200,
    does: 'Lists open dead letters, the latest first: those of deliveries, unless events are asked for.',
    query: {
      kind: '`delivery`, `event` or `all`; `event` where `source` or `businessKey` is given, else `delivery`',
      endpoint: 'of deliveries to this endpoint',
      publication: 'of deliveries of this publication',
      source: 'of events of this source',
      businessKey: 'of events with an effect under exactly this key',
      type: 'the exact type',
      code: 'why they ended',
      owner: 'those that this person looks after',
      parked: '`true`: those that wait for a person while their event runs; `false`: the others',
      since: 'opened at or after, such as `2026-02-03T04:05:06Z`',
      until: 'opened before',
      all: '`true`: closed ones too',
      ...paged,
    },
    answer:
      '`{ items, next? }`; of a delivery `{ id, kind, endpoint, publication, deliveryKey, … }`, of an event ' +
      '`{ id, kind, event, eventKey, … }`',
  },
  {
    name: 'countDeadLetters',
    method: 'GET',
    path: '/v1/dead-letters/count',
    access: 'read',
    status: 200,
    does: 'Counts open dead letters of both kinds by where and why they ended, with the age of the oldest.',
    query: { kind: '`delivery` or `event`; both by default', source: 'of this source, or this endpoint' },
    answer: '`{ items }`, each `{ kind, source, code, count, parked, oldestAt, latestAt }`',
  },
  {
    name: 'showDeadLetter',
    method: 'GET',
    path: '/v1/dead-letters/:id',
    access: 'read',
    status: 200,
    does: 'Shows a dead letter of either kind: the reason of every attempt that was kept, and what people did about it.',
    answer: 'as in the list, with `acts`',
  },
  {
    name: 'noteDeadLetter',
    method: 'POST',
    path: '/v1/dead-letters/:id/note',
    access: 'act',
    status: 200,
    does: 'Writes down who looks after a dead letter and what they found. It changes nothing about what it is of.',
    body: {
      owner: 'who looks after it; empty for nobody; as it is by default',
      note: 'what was found; empty takes it away; as it is by default',
      ...wish,
    },
    needs: ['reason'],
    answer: 'the dead letter, as `GET` shows it',
  },
  {
    name: 'listActs',
    method: 'GET',
    path: '/v1/acts',
    access: 'read',
    status: 200,
    does: 'Lists what people did, the latest first.',
    query: {
      about:
        'an event as `source/event-id`, a workflow ID, `endpoint/<tenant>/<id>`, `effect/<name>`, `source/<name>`, or ' +
        '`events` for acts on many',
      kind: 'such as `replay`, `abandon`, `pause`, `note`',
      by: 'of this person',
      since: 'recorded at or after, such as `2026-02-03T04:05:06Z`',
      until: 'recorded before',
      ...paged,
    },
    answer: '`{ items, next? }`, each `{ id, kind, about, by, reason, at, outcome, seen }`',
  },
] as const satisfies readonly AdminRoute[];

/** Names one of them. */
export type ReceivingRouteName = (typeof receivingRoutes)[number]['name'];
