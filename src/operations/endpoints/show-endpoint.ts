import { countOpenLetters } from '../../ledger/endpoints/count-open-letters.js';
import type { EndpointRef } from '../../ledger/endpoints/endpoint-row.js';
import { type EndpointAttempt, listAttempts } from '../../ledger/endpoints/list-attempts.js';
import { listLiveSecrets } from '../../ledger/endpoints/list-live-secrets.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { operationFailure } from '../operation-failure.js';
import type { EndpointsDependencies } from './endpoints-dependencies.js';
import { getEndpoint } from './get-endpoint.js';

/** Attempts that are shown. */
const shownAttempts = 10;

/** An endpoint and how it fares. */
export interface EndpointDetails {
  readonly endpoint: Endpoint;
  /** What signs, the newest first; never the secrets themselves. */
  readonly secrets: readonly { readonly createdAt: Date; readonly expiresAt?: Date }[];
  /** The latest ten, the newest first. */
  readonly attempts: readonly EndpointAttempt[];
  /** Open dead letters of its deliveries; counted up to 10,000. */
  readonly openDeadLetters: number;
}

/**
 * Reads an endpoint of a tenant with its latest attempts and what of it lies in the dead letters.
 *
 * @throws {OnefoldError} `endpoint_unknown`, `identity_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function showEndpoint(
  deps: Pick<EndpointsDependencies, 'ledger'>,
  ref: EndpointRef,
): Promise<EndpointDetails> {
  const endpoint = await getEndpoint(deps, ref);
  const { database, schema } = deps.ledger;
  try {
    const [secrets, attempts, openDeadLetters] = await Promise.all([
      listLiveSecrets(database.query, schema, ref),
      listAttempts(database.query, schema, ref, shownAttempts),
      countOpenLetters(database.query, schema, ref),
    ]);
    return {
      endpoint,
      secrets: secrets.map(({ createdAt, expiresAt }) => ({ createdAt, ...(expiresAt ? { expiresAt } : {}) })),
      attempts,
      openDeadLetters,
    };
  } catch (error) {
    throw operationFailure(error);
  }
}
