import { type AdminRoute, type Described, wish } from './admin-route.js';

/** Events that are looked into, each in PostgreSQL and in Temporal, while the caller waits. */
export const decisionsAtMost = 200;

const filters: Described = {
  source: 'of this source',
  type: 'the exact type',
  state: '`dead_lettered` by default; where an effect is named, `done` and `ignored`',
  businessKey: 'with an effect under exactly this key',
  code: 'with an open dead letter of this code',
  since: 'received at or after, such as `2026-02-03T04:05:06Z`',
  until: 'received before',
};

const effect: Described = {
  effect: 'run only this one, which was added later, for events that are done without it',
};

/** Routes about replays of many events. At least one filter is needed; the tenant is none. */
export const replayManyRoutes = [
  {
    name: 'previewReplay',
    method: 'GET',
    path: '/v1/replays/preview',
    access: 'read',
    status: 200,
    does:
      'Shows which events a replay would be about, and where their effects stand. At least one filter is needed; `tenant` ' +
      'is none.',
    query: {
      ...filters,
      ...effect,
      decisions: `look into so many of them, those received first, 0 to ${decisionsAtMost}; 0 by default`,
    },
    answer: '`{ outcome, size, filter, events, effects, first, decisions, … }`',
  },
  {
    name: 'replayMany',
    method: 'POST',
    path: '/v1/replays',
    access: 'act',
    status: 200,
    does:
      'Replays every event that the filters take in; the set is frozen first. At least one filter is needed; `tenant` is ' +
      'none. Answers when every event was asked for, which at this rate may take hours: give an `id`. Broken off, the same ' +
      '`id` goes on where it stopped, with the filters or without them; `onefold replay --act <id> --cancel` ends it.',
    body: { ...filters, ...effect, rate: 'events per second, 0.1 to 1,000; 20 by default', ...wish },
    needs: ['reason'],
    answer:
      '`{ id, outcome, size, counts, refusals, because?, … }`; `{ outcome: "nothing_found" }` where none was taken in',
  },
] as const satisfies readonly AdminRoute[];

/** Names one of them. */
export type ReplayManyRouteName = (typeof replayManyRoutes)[number]['name'];
