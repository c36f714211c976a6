import { OnefoldError } from '../errors.js';
import type { OperationsContext } from '../operations/context.js';
import { type ListedPause, listPaused } from '../operations/pauses/list-paused.js';
import { pause } from '../operations/pauses/pause.js';
import type { PausableName } from '../operations/pauses/read-pausable.js';
import { resume } from '../operations/pauses/resume.js';
import { type AdminHandler, wishOf } from './admin-handler.js';
import type { AdminRequest, Fields } from './admin-request.js';
import type { PauseRouteName } from './pause-routes.js';

/** Makes the handlers of the routes about what is held of what was received. */
export function pauseHandlers(context: OperationsContext): Readonly<Record<PauseRouteName, AdminHandler>> {
  const act =
    (carryOut: typeof pause | typeof resume, kind: 'effect' | 'source'): AdminHandler =>
    async (request) => {
      const name = { [kind]: request.path.text(kind), ...whose(request, request.body) } as PausableName;
      return { body: await carryOut(context, name, { ...wishOf(request), ...request.body.flags('dryRun') }) };
    };

  return {
    listPauses: async (request) => {
      const { tenant } = whose(request, request.query);
      const all = await listPaused(context);
      return { body: { items: tenant === undefined ? all : all.flatMap((one) => seenBy(tenant, one)) } };
    },
    pauseEffect: act(pause, 'effect'),
    resumeEffect: act(resume, 'effect'),
    pauseSource: act(pause, 'source'),
    resumeSource: act(resume, 'source'),
  };
}

/**
 * Whose events are meant. Operations take no tenant for all of them; here it means those without one, as on every route, so
 * that nobody holds up all tenants by leaving something out.
 *
 * @throws {OnefoldError} `request_invalid` for one tenant and every tenant at once.
 */
function whose({ tenant }: AdminRequest, fields: Fields): { readonly tenant?: string } {
  const { everyTenant = false } = fields.flags('everyTenant');
  if (!everyTenant) return { tenant };
  if (tenant === '') return {};
  throw new OnefoldError('request_invalid', 'everyTenant: not beside tenant; expected one of the two');
}

/** What of a pause concerns a tenant: of one that holds every tenant, how many events wait would count those of others. */
function seenBy(tenant: string, listed: ListedPause): readonly Partial<ListedPause>[] {
  if (listed.tenant === tenant) return [listed];
  if (listed.tenant !== undefined) return [];
  const { waiting: _ofAll, ...pauseOfAll } = listed;
  return [pauseOfAll];
}
