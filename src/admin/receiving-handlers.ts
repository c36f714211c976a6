import { OnefoldError } from '../errors.js';
import { abandonEvent } from '../operations/abandon-event.js';
import { type ActFilter, listActs } from '../operations/acts/list-acts.js';
import type { PublishingContext } from '../operations/context.js';
import { type CountFilter, countDeadLetters } from '../operations/dead-letters/count-dead-letters.js';
import { letterIdForm, listDeadLetters } from '../operations/dead-letters/list-dead-letters.js';
import { noteDeadLetter } from '../operations/dead-letters/note-dead-letter.js';
import { showDeadLetter } from '../operations/dead-letters/show-dead-letter.js';
import { type EventFilter, listEvents } from '../operations/events/list-events.js';
import { showEvent } from '../operations/events/show-event.js';
import { readActOptions } from '../operations/read-act-options.js';
import { replayEvent } from '../operations/replay-event.js';
import { retryNow } from '../operations/retry-now.js';
import { traceIdentity } from '../operations/trace/trace-identity.js';
import { type AdminHandler, wishOf } from './admin-handler.js';
import type { AdminRequest } from './admin-request.js';
import { deadLetterAnswer } from './dead-letter-answer.js';
import { eventOfPath } from './event-of-path.js';
import type { ReceivingRouteName } from './receiving-routes.js';

/** Makes the handlers of the routes about what was received. */
export function receivingHandlers(context: PublishingContext): Readonly<Record<ReceivingRouteName, AdminHandler>> {
  return {
    listEvents: async ({ tenant, query }) => ({
      body: await listEvents(context, {
        tenant,
        ...query.texts('source', 'type', 'state', 'businessKey', 'effect', 'code', 'cursor'),
        ...query.moments('since', 'until'),
        ...query.numbers('limit'),
      } as EventFilter),
    }),
    showEvent: async (request) => ({
      body: await showEvent(context, { event: eventOfPath(request), tenant: request.tenant }),
    }),
    replayEvent: async (request) => {
      const { tenant, body } = request;
      const replayed = await replayEvent(context, eventOfPath(request), {
        // An id of any length would not fit into the index of the acts.
        ...readActOptions(wishOf(request)),
        tenant,
        ...body.texts('effect'),
        ...body.flags('rekey', 'dryRun'),
      });
      return { body: replayed, ...(replayed.outcome === 'started' ? {} : { status: 200 }) };
    },
    retryEventNow: async (request) => {
      const { tenant, body } = request;
      const retried = await retryNow(context, eventOfPath(request), {
        ...wishOf(request),
        tenant,
        ...body.texts('effect'),
        ...body.flags('dryRun'),
      });
      return { body: retried, ...(retried.outcome === 'told' ? {} : { status: 200 }) };
    },
    abandonEvent: async (request) => {
      const { tenant, body } = request;
      const options = { ...wishOf(request), tenant, ...body.flags('dryRun') };
      return { body: await abandonEvent(context, eventOfPath(request), options) };
    },
    traceIdentity: async ({ tenant, query }) => ({
      body: await traceIdentity(context, query.text('identity'), {
        tenant,
        ...query.texts('effect'),
        ...query.flags('temporal'),
        ...query.numbers('limit'),
      }),
    }),
    listDeadLetters: async ({ tenant, query }) => {
      const { kind: asked, ...texts } = query.texts(
        'kind',
        'endpoint',
        'publication',
        'source',
        'businessKey',
        'type',
        'code',
        'owner',
        'cursor',
      );
      const isOfEvents = texts.source !== undefined || texts.businessKey !== undefined;
      const kind = kindOf(asked ?? (isOfEvents ? 'event' : 'delivery'));
      const { items, ...page } = await listDeadLetters(context, {
        tenant,
        ...(kind === 'all' ? {} : { kind }),
        ...texts,
        ...query.moments('since', 'until'),
        ...query.flags('parked', 'all'),
        ...query.numbers('limit'),
      });
      return { body: { items: items.map(deadLetterAnswer), ...page } };
    },
    countDeadLetters: async ({ tenant, query }) => {
      const filter = { tenant, ...query.texts('kind', 'source') } as CountFilter;
      return { body: { items: await countDeadLetters(context, filter) } };
    },
    showDeadLetter: async (request) => {
      const { tenant } = request;
      return { body: deadLetterAnswer(await showDeadLetter(context, letterOf(request), { tenant })) };
    },
    noteDeadLetter: async (request) => {
      const { tenant, body } = request;
      const options = { ...wishOf(request), tenant, ...body.texts('owner', 'note') };
      return { body: deadLetterAnswer(await noteDeadLetter(context, letterOf(request), options)) };
    },
    listActs: async ({ tenant, query }) => ({
      body: await listActs(context, {
        tenant,
        ...query.texts('about', 'kind', 'by', 'cursor'),
        ...query.moments('since', 'until'),
        ...query.numbers('limit'),
      } as ActFilter),
    }),
  };
}

function kindOf(kind: string): 'event' | 'delivery' | 'all' {
  if (kind === 'event' || kind === 'delivery' || kind === 'all') return kind;
  throw new OnefoldError('request_invalid', 'kind: expected one of delivery, event, all');
}

/** By its id alone: the operations take names too, and of a workflow ID the tenant that stands in it. */
function letterOf({ path }: AdminRequest): string {
  const id = path.text('id');
  if (letterIdForm.test(id)) return id;
  throw new OnefoldError('dead_letter_unknown', 'there is no such dead letter; a list tells their ids');
}
