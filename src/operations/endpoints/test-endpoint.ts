import { randomUUID } from 'node:crypto';
import { OnefoldError } from '../../errors.js';
import type { EndpointRef } from '../../ledger/endpoints/endpoint-row.js';
import { listLiveSecrets } from '../../ledger/endpoints/list-live-secrets.js';
import { readSealedHeaders } from '../../ledger/endpoints/read-sealed-headers.js';
import { type Decision, decide } from '../../publisher/decisions.js';
import { createEgressClient, type Exchange } from '../../publisher/egress/egress-client.js';
import { defaultSendTimeoutMs } from '../../publisher/endpoint.js';
import { requestOf } from '../../publisher/request-of.js';
import { tenantRules } from '../../runtime/egress-rules.js';
import { operationFailure } from '../operation-failure.js';
import type { EndpointsDependencies } from './endpoints-dependencies.js';
import { getEndpoint } from './get-endpoint.js';

/** The type of the message that a test sends. */
export const testType = 'endpoint.test';

/** What an endpoint made of a test message. */
export interface EndpointTest {
  /** Its `webhook-id`: `test_` and a UUID. */
  readonly eventId: string;
  /** What such an answer means for a delivery; `retry` also where none came. */
  readonly decision: Decision;
  /** Absent where no answer came. */
  readonly status?: number;
  /** Why it was not delivered. */
  readonly code?: string;
  readonly message?: string;
  readonly durationMs: number;
  /** The beginning of what the endpoint answered, for its owner. */
  readonly answer?: string;
}

/**
 * Sends one signed message of the type `endpoint.test` to an endpoint, now, and says what came of it. It goes the way of
 * every attempt: judged destination, the endpoint's own headers, secrets and timeout. It is no publication: nothing is
 * recorded or tried again, no limit holds it back, and the endpoint's state does not count, so that a disabled one can be
 * tried before it is enabled.
 *
 * @throws {OnefoldError} `endpoint_unknown`, `endpoint_removed`, `identity_invalid`, `secret_unreadable`, `config_missing`
 * and `config_invalid` of ONEFOLD_SECRETS_KEYS, `ledger_unavailable`, `migration_missing`.
 */
export async function testEndpoint(
  { ledger, sealer, egressRules, log }: EndpointsDependencies,
  ref: EndpointRef,
): Promise<EndpointTest> {
  const { url, state, timeoutMs = defaultSendTimeoutMs } = await getEndpoint({ ledger }, ref);
  if (state === 'removed') throw new OnefoldError('endpoint_removed', `the endpoint ${ref.id} was removed`);
  const { tenant, id: endpoint } = ref;
  const eventId = `test_${randomUUID()}`;
  const [headers, secrets] = await sealedOf(ledger, ref);
  const body = JSON.stringify({ type: testType, timestamp: new Date().toISOString(), data: { endpoint } });
  const message = { url, headers, secrets, body, eventId } as Parameters<typeof requestOf>[0];
  const request = requestOf(message, { tenant, endpoint }, sealer, Date.now());
  const client = createEgressClient(tenantRules(egressRules, tenant));
  try {
    const test = { eventId, ...told(await client.send({ ...request, timeoutMs })) };
    const { decision, status, code } = test;
    log.info({ tenant, endpoint, eventId, decision, status, code }, 'endpoint.tested');
    return test;
  } finally {
    // Its idle connection would keep the process from ending.
    await client.close();
  }
}

async function sealedOf({ database, schema }: EndpointsDependencies['ledger'], ref: EndpointRef) {
  try {
    return await Promise.all([
      readSealedHeaders(database.query, schema, ref),
      listLiveSecrets(database.query, schema, ref),
    ]);
  } catch (error) {
    throw operationFailure(error);
  }
}

function told(exchange: Exchange): Omit<EndpointTest, 'eventId'> {
  if (exchange.kind === 'no_response') {
    const { code, message, durationMs } = exchange;
    return { decision: code === 'destination_refused' ? 'rejected' : 'retry', code, message, durationMs };
  }
  const { status, durationMs, text } = exchange.response;
  const { decision, meaning } = decide(status);
  const code = decision === 'gone' ? 'endpoint_gone' : `http_${status}`;
  return {
    decision,
    status,
    durationMs,
    ...(decision === 'delivered' ? {} : { code, message: meaning }),
    ...(text === '' ? {} : { answer: text }),
  };
}
