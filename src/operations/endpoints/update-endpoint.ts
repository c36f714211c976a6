import type { EndpointRef, EndpointRow } from '../../ledger/endpoints/endpoint-row.js';
import { fitPace } from '../../ledger/endpoints/fit-pace.js';
import { fitSlots } from '../../ledger/endpoints/fit-slots.js';
import { updateEndpointRow } from '../../ledger/endpoints/update-endpoint-row.js';
import { judgeDestination } from '../../publisher/egress/judge-destination.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { endpointOfRow } from '../../publisher/endpoint-of-row.js';
import { checkChanges, type EndpointChanges, type NewSettings } from '../../publisher/endpoint-settings.js';
import { tenantRules } from '../../runtime/egress-rules.js';
import { changeEndpoint } from './change-endpoint.js';
import type { EndpointAct, EndpointsDependencies } from './endpoints-dependencies.js';
import { storedHeaders, storedSettings } from './stored-settings.js';

/** A changed endpoint. */
export interface UpdatedEndpoint {
  readonly endpoint: Endpoint;
  /** False where the host of a new URL is not known yet: it is judged at every attempt all the same. */
  readonly resolved: boolean;
}

/**
 * Changes settings of an endpoint. Deliveries that wait are told, and go by the new settings: their schedule and budget
 * too. A new URL or new headers, which may hold the credentials that were wrong, begin with a clean bill of health; the state
 * stays, so a disabled endpoint has to be enabled.
 *
 * @throws {OnefoldError} `endpoint_unknown`, `endpoint_removed`, `endpoint_invalid` naming the setting,
 * `destination_refused`, `identity_invalid`, `config_missing` and `config_invalid` of ONEFOLD_SECRETS_KEYS,
 * `ledger_unavailable`, `migration_missing`.
 */
export async function updateEndpoint(
  deps: EndpointsDependencies,
  ref: EndpointRef,
  changes: EndpointChanges,
  act: EndpointAct = {},
): Promise<UpdatedEndpoint> {
  const { schema } = deps.ledger;
  const { headers, ...settings } = checkChanges(changes);
  const { resolved, ...moved } =
    settings.url === undefined
      ? { resolved: true }
      : await judgeDestination(settings.url, tenantRules(deps.egressRules, ref.tenant));
  const endpoint = await changeEndpoint(deps, ref, act, {
    event: 'endpoint.updated',
    fields: { changed: Object.keys(changes) },
    async change(sql, before) {
      const stored = storedSettings({ ...settingsOf(before), ...settings, ...moved });
      const sealed = headers && storedHeaders(deps.sealer, headers, ref);
      const afresh = stored.url !== before.url || headers !== undefined;
      const after = await updateEndpointRow(sql, schema, ref, stored, sealed, afresh);
      // Endpoint, pace, slot: the order in which attempts lock them too.
      await fitPace(sql, schema, ref, stored.rateLimit !== null);
      await fitSlots(sql, schema, ref, stored.concurrency);
      return after;
    },
  });
  return { endpoint, resolved };
}

function settingsOf(row: EndpointRow): NewSettings {
  const { url, types, description, concurrency, atMostOnce, ...set } = endpointOfRow(row);
  return {
    url,
    types,
    description,
    headers: {},
    rateLimit: set.rateLimit ?? null,
    concurrency,
    timeoutMs: set.timeoutMs ?? null,
    pausesMs: set.pausesMs ?? null,
    elapsedMs: set.elapsedMs ?? null,
    atMostOnce,
  };
}
