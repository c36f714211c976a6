import { randomUUID } from 'node:crypto';
import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { fitPace } from '../../ledger/endpoints/fit-pace.js';
import { fitSlots } from '../../ledger/endpoints/fit-slots.js';
import { insertEndpoint } from '../../ledger/endpoints/insert-endpoint.js';
import { insertSecret } from '../../ledger/endpoints/insert-secret.js';
import { notifyRelay } from '../../ledger/endpoints/notify-relay.js';
import { judgeDestination } from '../../publisher/egress/judge-destination.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { endpointOfRow } from '../../publisher/endpoint-of-row.js';
import { newSecret, sealSecret } from '../../publisher/endpoint-secret.js';
import { checkNewSettings, type EndpointSettings } from '../../publisher/endpoint-settings.js';
import { newEndpointId } from '../../publisher/new-endpoint-id.js';
import { tenantRules } from '../../runtime/egress-rules.js';
import { inTransaction, readAct } from './change-endpoint.js';
import type { EndpointAct, EndpointsDependencies } from './endpoints-dependencies.js';
import { storedHeaders, storedSettings } from './stored-settings.js';

/** Endpoints of one tenant: each publication may become as many deliveries. */
export const endpointsLimit = 10_000;

/** A new endpoint, and what is shown once. */
export interface CreatedEndpoint {
  readonly endpoint: Endpoint;
  /** Its signing secret, for the receiver. It is kept sealed, and not shown again. */
  readonly secret: string;
  /** False where the name of its host is not known yet: it is judged at every attempt all the same. */
  readonly resolved: boolean;
}

/**
 * Adds an endpoint, enabled: it is sent what is published from now on and matches its types. Called again after a lost
 * answer, it adds a second one.
 *
 * @throws {OnefoldError} `endpoint_invalid` naming the setting, and where the tenant has 10,000 endpoints;
 * `destination_refused`, `identity_invalid`, `config_missing` and `config_invalid` of ONEFOLD_SECRETS_KEYS,
 * `ledger_unavailable`, `migration_missing`.
 */
export async function createEndpoint(
  { ledger, sealer, egressRules, log }: EndpointsDependencies,
  tenant: string,
  given: EndpointSettings,
  act: EndpointAct = {},
): Promise<CreatedEndpoint> {
  checkTenant(tenant);
  const { by, reason } = readAct(act);
  const { settings, secret = newSecret() } = checkNewSettings(given);
  const ref = { tenant, id: newEndpointId() };
  const secretPlace = { tenant, endpoint: ref.id, id: randomUUID() };
  const sealed = sealSecret(sealer, secret, secretPlace);
  const headers = storedHeaders(sealer, settings.headers, ref);
  const { url, resolved } = await judgeDestination(settings.url, tenantRules(egressRules, tenant));
  const stored = storedSettings({ ...settings, url });
  const row = await inTransaction(ledger, async (sql) => {
    const row = await insertEndpoint(sql, ledger.schema, ref, stored, headers, endpointsLimit);
    if (!row) {
      throw new OnefoldError('endpoint_invalid', `a tenant has at most ${endpointsLimit} endpoints; remove some first`);
    }
    await insertSecret(sql, ledger.schema, secretPlace, { id: secretPlace.id, ...sealed });
    await fitPace(sql, ledger.schema, ref, settings.rateLimit !== null);
    await fitSlots(sql, ledger.schema, ref, settings.concurrency);
    await notifyRelay(sql, ledger.schema);
    return row;
  });
  log.info({ tenant, endpoint: ref.id, version: 1, types: settings.types, by, reason }, 'endpoint.created');
  return { endpoint: endpointOfRow(row), secret, resolved };
}
