import type { EndpointState } from '../../publisher/endpoint.js';
import { candidatePatterns, checkAnyType } from '../../publisher/type-pattern.js';
import { maximumPageRows } from '../page-cursor.js';
import type { EndpointsDependencies } from './endpoints-dependencies.js';
import { listEndpoints } from './list-endpoints.js';

/** An endpoint that would be sent a type. */
export interface Subscriber {
  readonly id: string;
  readonly url: string;
  /** A paused or disabled one gets its delivery too, which is held. */
  readonly state: EndpointState;
  /** The entries of its types that match. */
  readonly matched: readonly string[];
}

/**
 * Says who would be sent a message of this type, if it were published now.
 *
 * @param type Of a user's own, or one of those that Onefold tells about endpoints.
 * @throws {OnefoldError} `publication_invalid` for a type that is none, `identity_invalid`, `ledger_unavailable`,
 * `migration_missing`.
 */
export async function whoSubscribes(
  deps: Pick<EndpointsDependencies, 'ledger'>,
  tenant: string,
  type: string,
): Promise<readonly Subscriber[]> {
  const patterns = candidatePatterns(checkAnyType(type));
  const found: Subscriber[] = [];
  let cursor: string | undefined;
  do {
    const rest = cursor === undefined ? {} : { cursor };
    const page = await listEndpoints(deps, tenant, { type, limit: maximumPageRows, ...rest });
    for (const { id, url, state, types } of page.items) {
      found.push({ id, url, state, matched: types.filter((one) => patterns.includes(one)) });
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}
