import { sha256 } from '../runtime/sha256.js';
import type { DeliveryRequest, Identified, Refusal } from '../sources/source.js';
import type { AdmittedRequest } from './admit-request.js';
import { decodeContent } from './content-encoding.js';
import type { Delivery } from './delivery.js';
import { DeliveryRefused } from './delivery-refused.js';
import { readBody } from './read-body.js';
import type { ReceiveDependencies } from './receive-dependencies.js';
import type { ReceiverRequest } from './receiver-request.js';

/** A request whose signature held, and what it says. */
export interface VerifiedDelivery {
  /** Its body without any content encoding. */
  readonly request: DeliveryRequest;
  readonly identified: Identified;
}

/**
 * Reads the body, judges its signature, undoes its content encoding, reads its identity: in this order, so that nothing
 * unfolds or parses bytes of a stranger. Where the signature covers the decoded body the unfolding comes first, bounded.
 *
 * @throws {DeliveryRefused} As `readBody` and `decodeContent`, and with the code of the source's refusal.
 */
export async function readVerified(
  { metrics }: Pick<ReceiveDependencies, 'metrics'>,
  { source, encoding }: AdmittedRequest,
  request: ReceiverRequest,
  delivery: Delivery,
): Promise<VerifiedDelivery> {
  const { bodyLimitBytes, signed } = source.settings;
  const { method, url, headers } = request;
  const body = await readBody(request, bodyLimitBytes, delivery);
  if (body.decoded && encoding !== 'identity' && signed === 'wire') {
    throw new DeliveryRefused(
      'body_already_parsed',
      `another middleware decompressed the body, and the signature covers the ${encoding} bytes: mount the receiver before it`,
    );
  }
  const decode = async (): Promise<Uint8Array> =>
    body.decoded ? body.bytes : decodeContent(body.bytes, encoding, bodyLimitBytes);

  const signedBytes = signed === 'decoded' ? await decode() : body.bytes;
  const verdict = source.verify({ method, url, headers, rawBody: signedBytes }, { now: delivery.receivedAt });
  if (!verdict.ok) throw asRefused(verdict);
  metrics.verifiedBy.inc({ source: source.name, secret: String(verdict.secret) });

  const rawBody = signed === 'decoded' ? signedBytes : await decode();
  delivery.digest = sha256(rawBody);
  const verified = { method, url, headers, rawBody };
  const identified = source.identify(verified);
  if (!identified.ok) throw asRefused(identified);
  return { request: verified, identified };
}

function asRefused({ code, reason, message }: Refusal): DeliveryRefused {
  return new DeliveryRefused(code, message, { reason });
}
