import { randomUUID } from 'node:crypto';
import { OnefoldError } from '../../errors.js';
import type { EndpointRef } from '../../ledger/endpoints/endpoint-row.js';
import { expireSecrets } from '../../ledger/endpoints/expire-secrets.js';
import { insertSecret } from '../../ledger/endpoints/insert-secret.js';
import { nextVersion } from '../../ledger/endpoints/next-version.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { checkSecret, liveSecretsLimit, newSecret, sealSecret } from '../../publisher/endpoint-secret.js';
import { asEndpointInvalid } from '../../publisher/endpoint-settings.js';
import { durationMs } from '../../runtime/duration.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { changeEndpoint } from './change-endpoint.js';
import type { EndpointAct, EndpointsDependencies } from './endpoints-dependencies.js';

/** How a signing secret is replaced. */
export interface RotateOptions extends EndpointAct {
  /**
   * How long the former secrets go on signing beside the new one, so that the receiver can change over in between: up to
   * '30 days', or ms. 0 stops them at once, for a secret that has leaked. Default '24 hours'.
   */
  readonly overlap?: string | number;
  /** The new secret, where the receiver brings one: `whsec_` and base64. Default: a new one. */
  readonly secret?: string;
}

/** An endpoint with a new secret, which is shown once. */
export interface RotatedSecret {
  readonly endpoint: Endpoint;
  readonly secret: string;
  /** Until when the former secrets sign as well; absent where they have stopped. */
  readonly formerUntil?: Date;
}

/**
 * Gives an endpoint a new signing secret. Attempts sign with it from the next one on, and until the overlap is over with
 * the former ones too.
 *
 * @throws {OnefoldError} `endpoint_invalid` for an option or secret that is none, and where five would sign together;
 * `endpoint_unknown`, `endpoint_removed`, `identity_invalid`, `config_missing` and `config_invalid` of
 * ONEFOLD_SECRETS_KEYS, `ledger_unavailable`, `migration_missing`.
 */
export async function rotateSecret(
  deps: Pick<EndpointsDependencies, 'ledger' | 'sealer' | 'log'>,
  ref: EndpointRef,
  options: RotateOptions = {},
): Promise<RotatedSecret> {
  asEndpointInvalid(() => refuseUnknownOptions(options, ['overlap', 'secret', 'by', 'reason'], 'rotateSecret'));
  const { overlap = '24 hours', secret: given, ...act } = options;
  const overlapMs = isZero(overlap) ? 0 : asEndpointInvalid(() => durationMs(overlap, 'overlap', '30 days'));
  const secret = given === undefined ? newSecret() : checkSecret(given);
  const place = { tenant: ref.tenant, endpoint: ref.id, id: randomUUID() };
  const sealed = sealSecret(deps.sealer, secret, place);
  const { schema } = deps.ledger;
  const endpoint = await changeEndpoint(deps, ref, act, {
    event: 'endpoint.secret_rotated',
    fields: { overlapMs },
    async change(sql) {
      const former = await expireSecrets(sql, schema, ref, overlapMs);
      if (former >= liveSecretsLimit) {
        throw new OnefoldError(
          'endpoint_invalid',
          `${former} secrets of ${ref.id} sign already: wait until one expires, or stop all of them with an overlap of 0`,
        );
      }
      await insertSecret(sql, schema, place, { id: place.id, ...sealed });
      return nextVersion(sql, schema, ref);
    },
  });
  return {
    endpoint,
    secret,
    ...(overlapMs === 0 ? {} : { formerUntil: new Date(endpoint.updatedAt.getTime() + overlapMs) }),
  };
}

function isZero(overlap: unknown): boolean {
  return overlap === 0 || (typeof overlap === 'string' && /^0+(\s*[a-z]+)?$/i.test(overlap.trim()));
}
