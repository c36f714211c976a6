import { type AdminRoute, type Described, wish } from './admin-route.js';

const fields: Described = {
  everyTenant: 'true: for all tenants, instead of the one that is named; not beside `tenant`',
  dryRun: 'true: only say what would be done',
  ...wish,
};

const paused = '`{ kind, name, tenant?, id, outcome, before?, waiting }`';
const resumed = '`{ kind, name, tenant?, id, outcome, before?, stillPaused, waiting, told, gone, interrupted? }`';

/** Routes about what is held of what was received. Endpoints have their own. */
export const pauseRoutes = [
  {
    name: 'listPauses',
    method: 'GET',
    path: '/v1/pauses',
    access: 'read',
    status: 200,
    does: 'Lists the paused effects and sources that hold events of the tenant, the oldest pause first.',
    query: { everyTenant: '`true`: the pauses of all tenants, each with the number of events that wait' },
    answer:
      '`{ items }`, each `{ kind, name, tenant?, by, reason, since, id, waiting? }`; one without `tenant` holds every ' +
      'tenant, and says how many wait only where all are asked for',
  },
  {
    name: 'pauseEffect',
    method: 'POST',
    path: '/v1/effects/:effect/pause',
    access: 'act',
    status: 200,
    does: 'Lets no attempt of an effect begin. What waits spends neither attempts nor time; deliveries are still accepted.',
    body: fields,
    needs: ['reason'],
    answer: paused,
  },
  {
    name: 'resumeEffect',
    method: 'POST',
    path: '/v1/effects/:effect/resume',
    access: 'act',
    status: 200,
    does: 'Ends that pause, and tells every event that waits for it to go on.',
    body: fields,
    needs: ['reason'],
    answer: resumed,
  },
  {
    name: 'pauseSource',
    method: 'POST',
    path: '/v1/sources/:source/pause',
    access: 'act',
    status: 200,
    does: 'Lets no attempt of any effect of a source begin, as for one effect.',
    body: fields,
    needs: ['reason'],
    answer: paused,
  },
  {
    name: 'resumeSource',
    method: 'POST',
    path: '/v1/sources/:source/resume',
    access: 'act',
    status: 200,
    does: 'Ends that pause, and tells every event that waits for it to go on.',
    body: fields,
    needs: ['reason'],
    answer: resumed,
  },
] as const satisfies readonly AdminRoute[];

/** Names one of them. */
export type PauseRouteName = (typeof pauseRoutes)[number]['name'];
