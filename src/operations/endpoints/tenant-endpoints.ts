import { checkTenant } from '../../identity/check-tenant.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import type { EndpointChanges, EndpointSettings } from '../../publisher/endpoint-settings.js';
import { type CreatedEndpoint, createEndpoint } from './create-endpoint.js';
import type { EndpointAct, EndpointsDependencies } from './endpoints-dependencies.js';
import { getEndpoint } from './get-endpoint.js';
import { type EndpointFilter, type EndpointPage, listEndpoints } from './list-endpoints.js';
import { moveEndpoint } from './move-endpoint.js';
import { removeEndpoint } from './remove-endpoint.js';
import { type RotatedSecret, type RotateOptions, rotateSecret } from './rotate-secret.js';
import { type EndpointDetails, showEndpoint } from './show-endpoint.js';
import { type EndpointTest, testEndpoint } from './test-endpoint.js';
import { type UpdatedEndpoint, updateEndpoint } from './update-endpoint.js';
import { type Subscriber, whoSubscribes } from './who-subscribes.js';

/**
 * The endpoints of one tenant: every statement names the tenant, so whatever id is given, another tenant's endpoint is
 * neither read nor changed nor told apart from one that does not exist. Customers' own endpoints can be offered through it.
 *
 * Every method throws `OnefoldError` with `ledger_unavailable` or `migration_missing` where PostgreSQL is away or older
 * than this version; those that take an id throw `endpoint_unknown`, and those that change one `endpoint_removed`.
 */
export interface EndpointsApi {
  /**
   * Adds an endpoint, enabled: it is sent what is published from now on and matches its types. Called again after a lost
   * answer, it adds a second one.
   *
   * @returns The endpoint, and its signing secret, which is shown this once.
   * @throws {OnefoldError} `endpoint_invalid` naming the setting, `destination_refused`, `config_missing` without
   * ONEFOLD_SECRETS_KEYS.
   */
  create(settings: EndpointSettings, act?: EndpointAct): Promise<CreatedEndpoint>;
  /**
   * Lists endpoints in the order of their creation, page by page; removed ones only where `state` asks for them.
   *
   * @throws {OnefoldError} `request_invalid` for a filter, limit or cursor that is none.
   */
  list(filter?: EndpointFilter): Promise<EndpointPage>;
  /** Reads one endpoint; a removed one says so by its state. */
  get(id: string): Promise<Endpoint>;
  /** Reads one endpoint with its latest attempts, when its secrets expire, and how many dead letters are open. */
  show(id: string): Promise<EndpointDetails>;
  /**
   * Changes settings; null takes one back to its default. Deliveries that wait go by the new settings.
   *
   * @throws {OnefoldError} `endpoint_invalid` naming the setting, `destination_refused`.
   */
  update(id: string, changes: EndpointChanges, act?: EndpointAct): Promise<UpdatedEndpoint>;
  /**
   * Holds its deliveries: they wait without spending attempts, until it is resumed or their elapsed time is over.
   *
   * @throws {OnefoldError} `endpoint_disabled` where it is disabled.
   */
  pause(id: string, act?: EndpointAct): Promise<Endpoint>;
  /**
   * Lets a paused endpoint's deliveries go on.
   *
   * @throws {OnefoldError} `endpoint_disabled` where it is disabled.
   */
  resume(id: string, act?: EndpointAct): Promise<Endpoint>;
  /** Holds its deliveries, as what a 410 or days of failures do; `enable` ends it. */
  disable(id: string, act?: EndpointAct): Promise<Endpoint>;
  /**
   * Takes a disabled endpoint back into service, with a clean bill of health.
   *
   * @throws {OnefoldError} `endpoint_paused` where it is paused.
   */
  enable(id: string, act?: EndpointAct): Promise<Endpoint>;
  /**
   * Gives it a new signing secret, shown this once; the former ones sign beside it for `overlap`, 24 hours by default.
   *
   * @throws {OnefoldError} `endpoint_invalid` for an option or secret that is none, and where five would sign together.
   */
  rotateSecret(id: string, options?: RotateOptions): Promise<RotatedSecret>;
  /** Removes it for good. Its secrets and headers are deleted; deliveries that wait for it end as dead letters. */
  remove(id: string, act?: EndpointAct): Promise<Endpoint>;
  /**
   * Sends it one signed message of the type `endpoint.test` and says what came of it; nothing is recorded.
   *
   * @throws {OnefoldError} `secret_unreadable`, `config_missing`.
   */
  test(id: string): Promise<EndpointTest>;
  /**
   * Says who would be sent a message of this type, if it were published now.
   *
   * @throws {OnefoldError} `publication_invalid` for a type that is none.
   */
  whoSubscribes(type: string): Promise<readonly Subscriber[]>;
}

/**
 * Makes the management of one tenant's endpoints. Opens nothing until used.
 *
 * @throws {OnefoldError} `identity_invalid` for a tenant that is none.
 */
export function tenantEndpoints(deps: EndpointsDependencies, tenant: string): EndpointsApi {
  checkTenant(tenant);
  const ref = (id: string) => ({ tenant, id });
  return {
    create: (settings, act) => createEndpoint(deps, tenant, settings, act),
    list: (filter) => listEndpoints(deps, tenant, filter),
    get: (id) => getEndpoint(deps, ref(id)),
    show: (id) => showEndpoint(deps, ref(id)),
    update: (id, changes, act) => updateEndpoint(deps, ref(id), changes, act),
    pause: (id, act) => moveEndpoint(deps, ref(id), 'pause', act),
    resume: (id, act) => moveEndpoint(deps, ref(id), 'resume', act),
    disable: (id, act) => moveEndpoint(deps, ref(id), 'disable', act),
    enable: (id, act) => moveEndpoint(deps, ref(id), 'enable', act),
    rotateSecret: (id, options) => rotateSecret(deps, ref(id), options),
    remove: (id, act) => removeEndpoint(deps, ref(id), act),
    test: (id) => testEndpoint(deps, ref(id)),
    whoSubscribes: (type) => whoSubscribes(deps, tenant, type),
  };
}
