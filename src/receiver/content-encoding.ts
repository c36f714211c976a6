import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { HeaderMap } from '../sources/source.js';
import { DeliveryRefused } from './delivery-refused.js';
import { headerText } from './header-text.js';

const decoders = {
  gzip: promisify(gunzip),
  // RFC 9110, 8.4.1.3: to be treated as gzip.
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

/** A content encoding that can be undone; 'identity' is none. */
export type ContentEncoding = keyof typeof decoders | 'identity';

/**
 * Reads the content encoding of a request.
 *
 * @throws {DeliveryRefused} `body_unreadable` for one that cannot be undone, or several on top of each other.
 */
export function contentEncoding(headers: HeaderMap): ContentEncoding {
  const encoding = headerText(headers, 'content-encoding').trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return 'identity';
  if (Object.hasOwn(decoders, encoding)) return encoding as ContentEncoding;
  throw new DeliveryRefused('body_unreadable', 'the content encoding is none of gzip, deflate, br and identity', {
    reason: 'content_encoding',
    headers: { 'accept-encoding': 'gzip, deflate, br' },
  });
}

/**
 * Undoes a content encoding. The output is bounded while it is made, so that a small body that unfolds into gigabytes
 * costs no more than the limit.
 *
 * @throws {DeliveryRefused} `body_too_large` over the limit; `body_malformed` when the bytes are not so encoded.
 */
export async function decodeContent(
  bytes: Uint8Array,
  encoding: ContentEncoding,
  limitBytes: number,
): Promise<Uint8Array> {
  if (encoding === 'identity') return bytes;
  try {
    return await decoders[encoding](bytes, { maxOutputLength: limitBytes });
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new DeliveryRefused(
        'body_too_large',
        `the source takes bodies of at most ${limitBytes} bytes, decompressed`,
      );
    }
    throw new DeliveryRefused('body_malformed', `the body is not ${encoding}, as its content encoding says`, {
      reason: 'content_encoding',
      cause,
    });
  }
}
