import type { PublishingContext } from '../operations/context.js';
import { abandonDelivery } from '../operations/deliveries/abandon-delivery.js';
import type { DeliveryFilter } from '../operations/deliveries/list-deliveries.js';
import { listDeliveries } from '../operations/deliveries/list-deliveries.js';
import { listPublications } from '../operations/deliveries/list-publications.js';
import { recoverEndpoint } from '../operations/deliveries/recover-endpoint.js';
import { replayDelivery } from '../operations/deliveries/replay-delivery.js';
import { replayPublication } from '../operations/deliveries/replay-publication.js';
import { republish } from '../operations/deliveries/republish.js';
import { showDelivery } from '../operations/deliveries/show-delivery.js';
import { showPublication } from '../operations/deliveries/show-publication.js';
import type { EndpointFilter } from '../operations/endpoints/list-endpoints.js';
import { type EndpointsApi, tenantEndpoints } from '../operations/endpoints/tenant-endpoints.js';
import type { EndpointChanges, EndpointSettings } from '../publisher/endpoint-settings.js';
import type { PublicationFields, Published } from '../publisher/publication.js';
import { type AdminHandler, actOf, wishOf } from './admin-handler.js';
import type { AdminRequest } from './admin-request.js';
import type { AdminRouteName } from './admin-routes.js';
import { pauseHandlers } from './pause-handlers.js';
import { receivingHandlers } from './receiving-handlers.js';
import { replayManyHandlers } from './replay-many-handlers.js';

/** What the admin API stands on. */
export interface AdminDependencies {
  readonly context: PublishingContext;
  /** As `onefold.publish`. */
  readonly publish: (publication: PublicationFields) => Promise<Published>;
}

/** Makes the handler of every route of the table. */
export function adminHandlers({ context, publish }: AdminDependencies): Readonly<Record<AdminRouteName, AdminHandler>> {
  const endpoints = ({ tenant }: AdminRequest): EndpointsApi => tenantEndpoints(context, tenant);
  const idOf = ({ path }: AdminRequest): string => path.text('id');
  const move =
    (name: 'pause' | 'resume' | 'disable' | 'enable'): AdminHandler =>
    async (request) => {
      const act = { ...actOf(request), ...request.body.texts('id') };
      return { body: await endpoints(request)[name](idOf(request), act) };
    };

  return {
    listEndpoints: async (request) => {
      const { query } = request;
      const filter = { ...query.texts('state', 'type', 'cursor'), ...query.numbers('limit') } as EndpointFilter;
      return { body: await endpoints(request).list(filter) };
    },
    createEndpoint: async (request) => {
      const settings = request.body.without('reason') as unknown as EndpointSettings;
      return { body: await endpoints(request).create(settings, actOf(request)) };
    },
    showEndpoint: async (request) => ({ body: await endpoints(request).show(idOf(request)) }),
    updateEndpoint: async (request) => {
      const changes = request.body.without('reason') as EndpointChanges;
      return { body: await endpoints(request).update(idOf(request), changes, actOf(request)) };
    },
    removeEndpoint: async (request) => {
      const act = { by: request.by, ...request.query.texts('reason') };
      return { body: await endpoints(request).remove(idOf(request), act) };
    },
    pauseEndpoint: move('pause'),
    resumeEndpoint: move('resume'),
    disableEndpoint: move('disable'),
    enableEndpoint: move('enable'),
    rotateSecret: async (request) => {
      const { body } = request;
      const overlap = body.any('overlap') as string | number | undefined;
      const options = { ...body.texts('secret'), ...(overlap === undefined ? {} : { overlap }), ...actOf(request) };
      return { body: await endpoints(request).rotateSecret(idOf(request), options) };
    },
    testEndpoint: async (request) => ({ body: await endpoints(request).test(idOf(request)) }),
    recoverEndpoint: async (request) => {
      const { tenant, body } = request;
      const { since = new Date(Number.NaN), until } = body.moments('since', 'until');
      const recovered = await recoverEndpoint(
        context,
        { tenant, endpoint: idOf(request) },
        { ...wishOf(request), since, ...(until ? { until } : {}), ...body.flags('dryRun') },
      );
      return { body: recovered };
    },
    listPublications: async ({ tenant, query }) => ({
      body: await listPublications(context, {
        tenant,
        ...query.texts('type', 'cursor'),
        ...query.moments('since', 'until'),
        ...query.numbers('limit'),
      }),
    }),
    publish: async ({ tenant, body }) => {
      const published = await publish({ ...body.without(), tenant } as unknown as PublicationFields);
      return { body: published, ...(published.path === 'published' ? {} : { status: 200 }) };
    },
    showPublication: async ({ tenant, path }) => ({
      body: await showPublication(context, { tenant, publication: path.text('publication') }),
    }),
    replayPublication: async (request) => {
      const { tenant, path, body } = request;
      const replayed = await replayPublication(
        context,
        { tenant, publication: path.text('publication') },
        { ...wishOf(request), ...body.flags('all', 'dryRun') },
      );
      const started = replayed.deliveries.some(({ outcome }) => outcome === 'started');
      return { body: replayed, ...(started ? {} : { status: 200 }) };
    },
    republish: async (request) => {
      const { tenant, path, body } = request;
      const republished = await republish(
        context,
        { tenant, publication: path.text('publication') },
        { ...wishOf(request), as: body.text('as'), ...body.texts('endpoint') },
      );
      return { body: republished, ...(republished.path === 'published' ? {} : { status: 200 }) };
    },
    listDeliveries: async ({ tenant, query }) => ({
      body: await listDeliveries(context, {
        tenant,
        ...query.texts('endpoint', 'publication', 'type', 'state', 'cursor'),
        ...query.moments('since', 'until'),
        ...query.numbers('limit'),
      } as DeliveryFilter),
    }),
    showDelivery: async ({ tenant, path }) => ({
      body: await showDelivery(context, {
        tenant,
        endpoint: path.text('endpoint'),
        publication: path.text('publication'),
      }),
    }),
    replayDelivery: async (request) => {
      const { tenant, path, body } = request;
      const replayed = await replayDelivery(
        context,
        { tenant, endpoint: path.text('endpoint'), publication: path.text('publication') },
        { ...wishOf(request), ...body.flags('dryRun') },
      );
      return { body: replayed, ...(replayed.outcome === 'started' ? {} : { status: 200 }) };
    },
    abandonDelivery: async (request) => {
      const { tenant, path } = request;
      const name = { tenant, endpoint: path.text('endpoint'), publication: path.text('publication') };
      return { body: await abandonDelivery(context, name, wishOf(request)) };
    },
    ...receivingHandlers(context),
    ...replayManyHandlers(context),
    ...pauseHandlers(context),
  };
}
