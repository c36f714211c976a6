import { OnefoldError } from '../errors.js';
import type { OperationsContext } from '../operations/context.js';
import { previewReplay } from '../operations/replay-many/preview-replay.js';
import type { ReplayFilter } from '../operations/replay-many/replay-filter.js';
import { continueReplay, replayMany } from '../operations/replay-many/replay-many.js';
import { type AdminHandler, wishOf } from './admin-handler.js';
import type { AdminRequest, Fields } from './admin-request.js';
import { decisionsAtMost, type ReplayManyRouteName } from './replay-many-routes.js';

/** Makes the handlers of the routes about replays of many events. */
export function replayManyHandlers(context: OperationsContext): Readonly<Record<ReplayManyRouteName, AdminHandler>> {
  return {
    previewReplay: async (request) => {
      const { query } = request;
      const filter = filterOf(request, query);
      if (!filter) throw filterMissing();
      const { decisions = 0 } = query.numbers('decisions');
      if (decisions > decisionsAtMost) {
        throw new OnefoldError('request_invalid', `decisions: expected a whole number from 0 to ${decisionsAtMost}`);
      }
      return { body: await previewReplay(context, filter, { ...query.texts('effect'), decisions }) };
    },
    replayMany: async (request) => {
      const { tenant, body } = request;
      const wish = wishOf(request);
      const rate = rateOf(body);
      const effect = body.texts('effect');
      const filter = filterOf(request, body);
      if (filter) return { body: await replayMany(context, filter, { ...wish, ...effect, ...rate }) };
      // By its id alone a set is only carried on. A mistyped one must not begin a replay of all that the tenant has.
      if (wish.id === undefined || effect.effect !== undefined) throw filterMissing();
      return { body: await continueReplay(context, { tenant, id: wish.id }, rate) };
    },
  };
}

/** Undefined where nothing restricts: the tenant, which every route takes, is no filter here. */
function filterOf({ tenant }: AdminRequest, fields: Fields): ReplayFilter | undefined {
  const restricting = {
    ...fields.texts('source', 'type', 'state', 'businessKey', 'code'),
    ...fields.moments('since', 'until'),
  };
  if (Object.keys(restricting).length === 0) return undefined;
  return { tenant, ...restricting } as ReplayFilter;
}

function rateOf(body: Fields): { readonly rate?: number } {
  const rate = body.any('rate');
  if (rate === undefined) return {};
  if (typeof rate === 'number') return { rate };
  throw new OnefoldError('request_invalid', "body: 'rate' is no number");
}

function filterMissing(): OnefoldError {
  return new OnefoldError(
    'filter_missing',
    'say which events: by source, type, state, businessKey, code, since or until; tenant alone is no filter here',
  );
}
