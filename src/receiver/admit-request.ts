import type { Source } from '../sources/define-source.js';
import { mediaTypeOf } from '../sources/read-header.js';
import { type ContentEncoding, contentEncoding } from './content-encoding.js';
import type { Delivery } from './delivery.js';
import { DeliveryRefused } from './delivery-refused.js';
import type { ReceiveDependencies } from './receive-dependencies.js';
import type { ReceiverRequest } from './receiver-request.js';

/** A request whose body may be read. */
export interface AdmittedRequest {
  readonly source: Source;
  readonly encoding: ContentEncoding;
}

/**
 * Judges what needs no body, the cheapest first: source, method, draining, rate, content type and encoding.
 *
 * @throws {DeliveryRefused} `unknown_source`, `method_not_allowed`, `shutting_down`, `rate_limited`, `body_unreadable`.
 */
export function admitRequest(deps: ReceiveDependencies, request: ReceiverRequest, delivery: Delivery): AdmittedRequest {
  const source = deps.sources.get(sourceName(request.path));
  if (!source) throw new DeliveryRefused('unknown_source', 'no source of this name is configured');
  const { settings } = source;
  delivery.source = source.name;
  delivery.acknowledge = settings.acknowledge;
  delivery.successStatus = settings.successStatus;
  if (typeof settings.tenant === 'string') delivery.tenant = settings.tenant;
  if (request.method !== 'POST') {
    throw new DeliveryRefused('method_not_allowed', 'a source takes POST only', { headers: { allow: 'POST' } });
  }
  if (deps.isDraining()) throw new DeliveryRefused('shutting_down', 'this process takes no more requests');
  const waitSeconds = deps.buckets.get(source.name)?.take() ?? 0;
  if (waitSeconds > 0) {
    throw new DeliveryRefused('rate_limited', 'the source received more requests than its rate limit', {
      retryAfterSeconds: waitSeconds,
    });
  }
  if (!source.preset.readsMediaType(mediaTypeOf(request.headers))) {
    throw new DeliveryRefused('body_unreadable', 'the source does not read this content type', {
      reason: 'content_type',
    });
  }
  return { source, encoding: contentEncoding(request.headers) };
}

/** Names of sources need no encoding, so a path that is encoded names none. */
function sourceName(path: string): string {
  return /^\/([^/]+)\/?$/.exec(path)?.[1] ?? '';
}
