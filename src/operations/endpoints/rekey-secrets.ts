import { OnefoldError } from '../../errors.js';
import {
  type AfterPlace,
  listSealedOtherwise,
  type SealedPlace,
} from '../../ledger/endpoints/list-sealed-otherwise.js';
import { resealHeaders } from '../../ledger/endpoints/reseal-headers.js';
import { resealSecret } from '../../ledger/endpoints/reseal-secret.js';
import { openHeaders, sealHeaders } from '../../publisher/endpoint-headers.js';
import { openSecret, sealSecret } from '../../publisher/endpoint-secret.js';
import { operationFailure } from '../operation-failure.js';
import type { EndpointsDependencies } from './endpoints-dependencies.js';

/** Rows read at once. */
const batchRows = 100;

/** Places named in the report; more are counted only. */
const namedPlaces = 20;

/** What came of sealing everything anew. */
export interface RekeyReport {
  /** Name of the key that seals. */
  readonly key: string;
  /** Secrets and headers that were sealed anew. */
  readonly resealed: number;
  /** Those which no key of this process opens: they are as they were. */
  readonly unreadable: number;
  /** The first 20 of them. */
  readonly unreadablePlaces: readonly {
    readonly tenant: string;
    readonly endpoint: string;
    readonly what: 'secret' | 'headers';
    /** Name of the key it was sealed with. */
    readonly key: string;
  }[];
}

/**
 * Seals all secrets and headers of all tenants with the current key, which is the first of ONEFOLD_SECRETS_KEYS. Done in
 * small steps, each of which holds by itself: it can be ended and begun again at any time, and run beside sending. A key
 * that nothing is sealed with any more can be taken out, once every process has the new one in the first place.
 *
 * @throws {OnefoldError} `config_missing` and `config_invalid` of ONEFOLD_SECRETS_KEYS, `ledger_unavailable`,
 * `migration_missing`.
 */
export async function rekeySecrets({
  ledger,
  sealer,
  log,
}: Pick<EndpointsDependencies, 'ledger' | 'sealer' | 'log'>): Promise<RekeyReport> {
  const { query } = ledger.database;
  const key = sealer.currentKey;
  let resealed = 0;
  const unreadable: SealedPlace[] = [];
  let after: AfterPlace | undefined;
  try {
    for (;;) {
      const places = await listSealedOtherwise(query, ledger.schema, key, {
        limit: batchRows,
        ...(after ? { after } : {}),
      });
      for (const place of places) {
        const anew = sealAnew(sealer, place);
        if (!anew) unreadable.push(place);
        else {
          const reseal = place.secret === '' ? resealHeaders : resealSecret;
          if (await reseal(query, ledger.schema, place, anew)) resealed += 1;
        }
      }
      after = places.at(-1);
      if (places.length < batchRows) break;
    }
  } catch (error) {
    throw operationFailure(error);
  }
  log.info({ key, resealed, unreadable: unreadable.length }, 'endpoint.secrets_resealed');
  return {
    key,
    resealed,
    unreadable: unreadable.length,
    unreadablePlaces: unreadable.slice(0, namedPlaces).map(({ tenant, endpoint, secret, key }) => {
      return { tenant, endpoint, what: secret === '' ? 'headers' : 'secret', key };
    }),
  };
}

/** @returns Undefined where it cannot be opened, which the others need not wait for. */
function sealAnew(sealer: EndpointsDependencies['sealer'], { tenant, endpoint, secret: id, ...sealed }: SealedPlace) {
  try {
    if (id === '') {
      const headers = openHeaders(sealer, sealed, { tenant, endpoint });
      return sealHeaders(sealer, headers, { tenant, endpoint });
    }
    return sealSecret(sealer, openSecret(sealer, sealed, { tenant, endpoint, id }), { tenant, endpoint, id });
  } catch (error) {
    if (error instanceof OnefoldError && error.code === 'secret_unreadable') return undefined;
    throw error;
  }
}
