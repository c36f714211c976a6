/** Which token a request needs: one that may read, or one that may act. */
export type AdminAccess = 'read' | 'act';

/** Names of parameters or fields, and what they mean; `docs/admin-api.md` says it so. */
export type Described = Readonly<Record<string, string>>;

/** One route of the admin API. */
export interface AdminRoute {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** As Express takes it. A publication identity stands in it percent-encoded. */
  readonly path: string;
  readonly access: AdminAccess;
  /** Of the usual answer. */
  readonly status: 200 | 201 | 202;
  readonly does: string;
  /** Beside `tenant`, which every route takes; others are refused. */
  readonly query?: Described;
  /** Fields of the JSON object; others are refused. */
  readonly body?: Described;
  /** Fields that cannot be left out. */
  readonly needs?: readonly string[];
  readonly answer: string;
}

const paged: Described = {
  cursor: 'the `next` of the page before',
  limit: 'rows of a page, 1 to 200, 50 by default',
};

const within: Described = {
  since: 'published at or after, such as `2026-02-03T04:05:06Z`',
  until: 'published before',
};

const settings: Described = {
  url: 'where messages go, by POST: https and a public address',
  types: 'list of types that it is sent: `order.paid`, `order.*` or `*`',
  description: 'text for people',
  headers: 'extra headers of every request, by name; never shown again',
  rateLimit: 'requests per second, 0.1 to 10,000',
  concurrency: 'requests at once, 1 to 100',
  timeout: "of one exchange, `'1 second'` to `'60 seconds'`, or ms",
  schedule: "list of pauses between attempts, such as `['5 seconds', '1 hour']`",
  maximumElapsed: "from publishing to the last attempt, at most `'30 days'`",
  atMostOnce: 'whether an attempt that may have arrived is not repeated',
};

const why: Described = { reason: 'logged; of a pause, a disabling or a removal it is kept with the endpoint' };

const wish: Described = {
  reason: 'why; recorded',
  id: 'identity of this wish: repeating it is harmless; a new one by default',
};

/**
 * Every route of the admin API. The API is built from it, `docs/admin-api.md` is generated from it, and a test goes through
 * it with every kind of token.
 */
export const adminRoutes = [
  {
    name: 'listEndpoints',
    method: 'GET',
    path: '/v1/endpoints',
    access: 'read',
    status: 200,
    does: 'Lists endpoints in the order of their creation.',
    query: {
      state: '`enabled`, `paused`, `disabled` or `removed`; all but removed ones by default',
      type: 'those which are sent this type',
      ...paged,
    },
    answer: '`{ items, next? }`',
  },
  {
    name: 'createEndpoint',
    method: 'POST',
    path: '/v1/endpoints',
    access: 'act',
    status: 201,
    does: 'Adds an endpoint, enabled. Repeated after a lost answer, it adds a second one.',
    body: { ...settings, secret: 'its first signing secret, `whsec_` and base64; a new one by default', ...why },
    needs: ['url', 'types'],
    answer: '`{ endpoint, secret, resolved }`; the secret is shown this once',
  },
  {
    name: 'showEndpoint',
    method: 'GET',
    path: '/v1/endpoints/:id',
    access: 'read',
    status: 200,
    does: 'Shows an endpoint with its latest attempts and the number of its open dead letters.',
    answer: '`{ endpoint, secrets, attempts, openDeadLetters }`',
  },
  {
    name: 'updateEndpoint',
    method: 'PATCH',
    path: '/v1/endpoints/:id',
    access: 'act',
    status: 200,
    does: 'Changes settings; null takes one back to its default. Deliveries that wait go by the new ones.',
    body: { ...settings, ...why },
    answer: '`{ endpoint, resolved }`',
  },
  {
    name: 'removeEndpoint',
    method: 'DELETE',
    path: '/v1/endpoints/:id',
    access: 'act',
    status: 200,
    does: 'Removes an endpoint for good. Its secrets are deleted; deliveries that wait for it end as dead letters.',
    query: why,
    answer: 'the endpoint',
  },
  {
    name: 'pauseEndpoint',
    method: 'POST',
    path: '/v1/endpoints/:id/pause',
    access: 'act',
    status: 200,
    does: 'Holds its deliveries: they wait without spending attempts.',
    body: why,
    answer: 'the endpoint',
  },
  {
    name: 'resumeEndpoint',
    method: 'POST',
    path: '/v1/endpoints/:id/resume',
    access: 'act',
    status: 200,
    does: 'Lets the deliveries of a paused endpoint go on.',
    body: why,
    answer: 'the endpoint',
  },
  {
    name: 'disableEndpoint',
    method: 'POST',
    path: '/v1/endpoints/:id/disable',
    access: 'act',
    status: 200,
    does: 'Holds its deliveries, as what a 410 or days of failures do.',
    body: why,
    answer: 'the endpoint',
  },
  {
    name: 'enableEndpoint',
    method: 'POST',
    path: '/v1/endpoints/:id/enable',
    access: 'act',
    status: 200,
    does: 'Takes a disabled endpoint back into service.',
    body: why,
    answer: 'the endpoint',
  },
  {
    name: 'rotateSecret',
    method: 'POST',
    path: '/v1/endpoints/:id/rotate-secret',
    access: 'act',
    status: 200,
    does: 'Gives it a new signing secret; the former ones sign beside it for a while.',
    body: {
      overlap: "how long they do, such as `'24 hours'`, which is the default; 0 stops them at once",
      secret: 'the new one, `whsec_` and base64; made by default',
      ...why,
    },
    answer: '`{ endpoint, secret, formerUntil? }`; the secret is shown this once',
  },
  {
    name: 'testEndpoint',
    method: 'POST',
    path: '/v1/endpoints/:id/test',
    access: 'act',
    status: 200,
    does: 'Sends it one signed message of the type `endpoint.test`, now. Nothing is recorded.',
    answer: '`{ eventId, decision, status?, code?, message?, durationMs, answer? }`',
  },
  {
    name: 'recoverEndpoint',
    method: 'POST',
    path: '/v1/endpoints/:id/recover',
    access: 'act',
    status: 200,
    does:
      'Sends all its deliveries again that ended as dead letters within a time. Answers when all were started; broken off, ' +
      'the same `id` goes on where it stopped.',
    body: {
      since: 'ended at or after, such as `2026-02-03T04:05:06Z`',
      until: 'ended at or before; now by default',
      dryRun: 'true: only count them',
      ...wish,
    },
    needs: ['since', 'reason'],
    answer: '`{ id, found, started, lostRace, refused, refusals, outcome, because? }`',
  },
  {
    name: 'listPublications',
    method: 'GET',
    path: '/v1/publications',
    access: 'read',
    status: 200,
    does: 'Lists publications, the latest first, with the number of their deliveries in each state.',
    query: { type: 'the exact type', ...within, ...paged },
    answer: '`{ items, next? }`',
  },
  {
    name: 'publish',
    method: 'POST',
    path: '/v1/publications',
    access: 'act',
    status: 201,
    does:
      'Publishes a message. Repeating it is harmless: the same publication with the same content answers 200, with other ' +
      'content 422.',
    body: {
      publication: 'the publication identity, such as `order:42:confirmed:v1`',
      type: 'a type of the catalogue',
      data: 'what its schema takes',
      eventId: 'the `webhook-id`; made from tenant and publication by default',
      retry: 'false: one attempt per endpoint',
    },
    needs: ['publication', 'type', 'data'],
    answer: '`{ publication, eventId, path, publishedAt, deliveries }`',
  },
  {
    name: 'showPublication',
    method: 'GET',
    path: '/v1/publications/:publication',
    access: 'read',
    status: 200,
    does: 'Shows a publication with its message and its deliveries.',
    answer: '`{ publication, eventId, type, publishedAt, body, states, deliveries, acts, … }`',
  },
  {
    name: 'replayPublication',
    method: 'POST',
    path: '/v1/publications/:publication/replay',
    access: 'act',
    status: 202,
    does: 'Sends it again to every endpoint whose delivery was dead-lettered, under the same `webhook-id`.',
    body: {
      all: 'true: to every endpoint whose delivery has ended',
      dryRun: 'true: only say what would be done',
      ...wish,
    },
    needs: ['reason'],
    answer: '`{ id, deliveries, outcome, because? }`, each delivery with its own outcome',
  },
  {
    name: 'republish',
    method: 'POST',
    path: '/v1/publications/:publication/republish',
    access: 'act',
    status: 201,
    does: 'Publishes its message once more as a new event, on which receivers act again.',
    body: {
      as: 'the new publication identity',
      endpoint: 'to this endpoint alone; to all that subscribe by default',
      ...wish,
    },
    needs: ['as', 'reason'],
    answer: '`{ publication, from, eventId, path, publishedAt, deliveries, id }`',
  },
  {
    name: 'listDeliveries',
    method: 'GET',
    path: '/v1/deliveries',
    access: 'read',
    status: 200,
    does: 'Lists deliveries, those published last first.',
    query: {
      endpoint: 'to this endpoint',
      publication: 'of this publication',
      type: 'the exact type',
      state: '`queued`, `started`, `delivered`, `dead_lettered` or `abandoned`',
      ...within,
      ...paged,
    },
    answer: '`{ items, next? }`',
  },
  {
    name: 'showDelivery',
    method: 'GET',
    path: '/v1/deliveries/:endpoint/:publication',
    access: 'read',
    status: 200,
    does: 'Shows a delivery with its attempts, its dead letter, what people did about it, and what is still to come.',
    answer: '`{ state, eventId, attempts, attemptsMade, deadLetter?, acts, plan?, … }`',
  },
  {
    name: 'replayDelivery',
    method: 'POST',
    path: '/v1/deliveries/:endpoint/:publication/replay',
    access: 'act',
    status: 202,
    does: 'Sends a delivery again that has ended, under the same `webhook-id`.',
    body: { dryRun: 'true: only say what would be done', ...wish },
    needs: ['reason'],
    answer: '`{ id, outcome, runId?, state, attempts, … }`; 200 where nothing was started',
  },
  {
    name: 'abandonDelivery',
    method: 'POST',
    path: '/v1/deliveries/:endpoint/:publication/abandon',
    access: 'act',
    status: 200,
    does: 'Gives a delivery up that was not delivered, and closes its dead letter; only a replay sends it after that.',
    body: wish,
    needs: ['reason'],
    answer: '`{ id, outcome, state, … }`, the state being that before',
  },
  {
    name: 'listDeadLetters',
    method: 'GET',
    path: '/v1/dead-letters',
    access: 'read',
    status: 200,
    does: 'Lists open dead letters of deliveries, the latest first.',
    query: {
      endpoint: 'of this endpoint',
      publication: 'of this publication',
      code: 'why they ended',
      all: '`true`: closed ones too',
      ...paged,
    },
    answer: '`{ items, next? }`',
  },
] as const satisfies readonly AdminRoute[];

/** Names one route. */
export type AdminRouteName = (typeof adminRoutes)[number]['name'];
