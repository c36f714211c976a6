import type { BegunSend } from '../ledger/sends/begin-send.js';
import type { Sealer } from '../runtime/seal.js';
import type { EgressRequest } from './egress/egress-client.js';
import { openHeaders } from './endpoint-headers.js';
import { openSigningKey } from './endpoint-secret.js';
import { signedMessageHeaders } from './sign-message.js';

/**
 * Makes the request of an attempt: the same bytes and the same event identity each time, signed anew for the time it is
 * sent at, with every secret of the endpoint that has not expired.
 *
 * @returns With `sealedValues`: what of it must not be kept in clear, though the receiver may send it back.
 * @throws {OnefoldError} `secret_unreadable`, `config_missing` or `config_invalid` where this process cannot open what the
 * endpoint has sealed.
 */
export function requestOf(
  begun: Pick<BegunSend & { readonly kind: 'begun' }, 'url' | 'headers' | 'secrets' | 'body' | 'eventId'>,
  { tenant, endpoint }: { readonly tenant: string; readonly endpoint: string },
  sealer: Sealer,
  nowMs: number,
): Pick<EgressRequest, 'url' | 'headers' | 'body'> & { readonly sealedValues: readonly string[] } {
  const body = Buffer.from(begun.body);
  const keys = begun.secrets.map(({ id, ...sealed }) => openSigningKey(sealer, sealed, { tenant, endpoint, id }));
  const own = openHeaders(sealer, begun.headers, { tenant, endpoint });
  return {
    url: begun.url,
    headers: {
      ...own,
      'content-type': 'application/json',
      ...signedMessageHeaders({ eventId: begun.eventId, body, keys, nowMs }),
    },
    body,
    sealedValues: Object.values(own),
  };
}
