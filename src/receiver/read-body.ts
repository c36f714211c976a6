import type { HeaderMap } from '../sources/source.js';
import type { Delivery } from './delivery.js';
import { DeliveryRefused } from './delivery-refused.js';
import { headerText } from './header-text.js';
import type { ReceiverRequest } from './receiver-request.js';

/** The bytes of a request, and whether a content encoding still lies on them. */
export interface BodyBytes {
  readonly bytes: Uint8Array;
  readonly decoded: boolean;
}

/**
 * Reads the body up to a limit. A body that announces more is refused unread, one that turns out longer is cut.
 *
 * @param limitBytes Largest body taken; one of exactly this size still is.
 * @param delivery Gets what was read, also where the body is refused.
 * @throws {DeliveryRefused} `body_too_large`; `body_already_parsed` when a middleware kept no bytes; `body_malformed` when
 * the request ended before its body did.
 */
export async function readBody(
  request: ReceiverRequest,
  limitBytes: number,
  delivery: Pick<Delivery, 'received'>,
): Promise<BodyBytes> {
  const { body, headers } = request;
  if (body.kind === 'consumed') {
    throw new DeliveryRefused(
      'body_already_parsed',
      'another middleware consumed the body: mount the receiver before express.json(), or give express.json a `verify` that keeps `req.rawBody`',
    );
  }
  if (body.kind === 'kept') {
    delivery.received = [body.bytes];
    if (body.bytes.byteLength > limitBytes) throw tooLarge(limitBytes);
    return { bytes: body.bytes, decoded: true };
  }
  if (announcedBytes(headers) > limitBytes) throw tooLarge(limitBytes);
  const read: Uint8Array[] = [];
  delivery.received = read;
  return { bytes: await readStream(body.chunks, limitBytes, read), decoded: false };
}

/** @param read Gets the pieces. */
async function readStream(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
  read: Uint8Array[],
): Promise<Uint8Array> {
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.byteLength;
      if (size > limitBytes) throw tooLarge(limitBytes);
      read.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof DeliveryRefused) throw cause;
    throw new DeliveryRefused('body_malformed', 'the request ended before its body did', {
      reason: 'aborted',
      closeConnection: true,
      cause,
    });
  }
  return read.length === 1 ? read[0]! : Buffer.concat(read, size);
}

/** The body's own announcement; a server has refused malformed ones, and without one the stream itself is counted. */
function announcedBytes(headers: HeaderMap): number {
  const announced = headerText(headers, 'content-length');
  return /^\d+$/.test(announced) ? Number(announced) : 0;
}

function tooLarge(limitBytes: number): DeliveryRefused {
  return new DeliveryRefused('body_too_large', `the source takes bodies of at most ${limitBytes} bytes`, {
    closeConnection: true,
  });
}
