import { createHash } from 'node:crypto';
import type { RejectedRequest } from '../ledger/rejected/rejection.js';
import type { Logger } from '../runtime/logger.js';
import type { Sealer } from '../runtime/seal.js';
import type { Source } from '../sources/define-source.js';
import { mediaTypeOf } from '../sources/read-header.js';
import type { HeaderMap } from '../sources/source.js';
import type { Delivery } from './delivery.js';
import { headerText } from './header-text.js';
import { networkOf } from './network-of.js';
import type { ReceiverRequest } from './receiver-request.js';

/** Headers whose values cannot hold a secret; of every other only the name is kept. */
const harmless: readonly string[] = ['content-length', 'content-encoding', 'user-agent'];

/** What is kept of headers is bounded, whatever was sent: names, characters of a name, characters of a value. */
const namesLimit = 60;
const nameLimit = 80;
const valueLimit = 200;
const methodLimit = 20;

/** Of a body that a source wants kept, bytes: most webhooks fit, and a hundred of them are some megabytes. */
const bodyLimitBytes = 32 * 1024;
const bodyKeptMs = 24 * 3_600_000;

/** Makes samples of refused requests. */
export type RejectedSampler = (request: ReceiverRequest, delivery: Delivery, refusal: Refused) => RejectedRequest;

/** How a request was refused. */
export interface Refused {
  readonly code: string;
  readonly reason: string;
  readonly status: number;
}

/**
 * Makes the sampler. No header's value beyond the harmless ones, no query and no address is part of a sample; the body only
 * where the source asks for it, sealed. Without keys none is kept, which is warned of once.
 */
export function createRejectedSampler(deps: {
  readonly sources: ReadonlyMap<string, Source>;
  readonly sealer: Sealer | undefined;
  readonly log: Logger;
}): RejectedSampler {
  let warned = false;

  const sealedBody = (source: string, digest: string, body: Buffer, receivedAt: Date): RejectedRequest['body'] => {
    if (!deps.sources.get(source)?.settings.keepRejectedBody) return null;
    try {
      if (!deps.sealer) throw new Error('no sealer');
      const text = body.subarray(0, bodyLimitBytes).toString('base64');
      const { sealed, key } = deps.sealer.seal(text, rejectedBodyPlace(source, digest));
      return { sealed, key, until: new Date(receivedAt.getTime() + bodyKeptMs) };
    } catch (error) {
      const { code = 'internal_error', message } = error as { code?: string; message: string };
      if (!warned) deps.log.warn({ source, code, reason: message }, 'rejected.body_not_kept');
      warned = true;
      return null;
    }
  };

  return (request, delivery, { code, reason, status }) => {
    const { source, received, receivedAt } = delivery;
    const body = received && Buffer.concat(received);
    const digest = body && createHash('sha256').update(body).digest('hex');
    return {
      source,
      code,
      reason,
      status,
      method: request.method.slice(0, methodLimit),
      headers: JSON.stringify(shownHeaders(request.headers)),
      network: request.remoteAddress === undefined ? null : (networkOf(request.remoteAddress) ?? null),
      digest: digest ?? null,
      bytes: body?.byteLength ?? null,
      receivedAt,
      body: body && digest ? sealedBody(source, digest, body, receivedAt) : null,
    };
  };
}

/** What a kept body is sealed for: elsewhere it cannot be opened. */
export function rejectedBodyPlace(source: string, digest: string): string {
  return `rejected/${source}/${digest}`;
}

/** Names to values, null where the value is not kept. */
function shownHeaders(headers: HeaderMap): Readonly<Record<string, string | null>> {
  const names = Object.keys(headers).slice(0, namesLimit);
  return Object.fromEntries(
    names.map((name) => [
      name.slice(0, nameLimit),
      // The media type alone: a parameter can be anything.
      name === 'content-type' ? mediaTypeOf(headers).slice(0, valueLimit) : harmlessValue(headers, name),
    ]),
  );
}

function harmlessValue(headers: HeaderMap, name: string): string | null {
  return harmless.includes(name) ? headerText(headers, name).replaceAll('\0', '').slice(0, valueLimit) : null;
}
