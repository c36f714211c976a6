import type { HeaderMap } from '../sources/source.js';
import type { ReceivedBody, ReceiverRequest, ReceiverResponse } from './receiver-request.js';

/**
 * Puts a receiver behind the web-standard `Request` and `Response`. Headers that came in several lines arrive joined by
 * commas there; a provider whose scheme needs the lines apart belongs behind `express`.
 */
export function fetchHandler(
  handle: (request: ReceiverRequest) => Promise<ReceiverResponse>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname } = new URL(request.url);
    const { status, headers, body } = await handle({
      method: request.method,
      path: `/${pathname.split('/').filter(Boolean).at(-1) ?? ''}`,
      url: request.url,
      headers: headerMap(request.headers),
      body: bodyOf(request),
      signal: request.signal,
    });
    // Connections are the server's affair here, and HTTP/2 forbids the header.
    const { connection: _connection, ...rest } = headers;
    return new Response(body === '' ? null : body, { status, headers: rest });
  };
}

function headerMap(headers: Headers): HeaderMap {
  const map: Record<string, string> = Object.create(null);
  headers.forEach((value, name) => {
    map[name] = value;
  });
  return map;
}

function bodyOf(request: Request): ReceivedBody {
  if (request.bodyUsed) return { kind: 'consumed' };
  return { kind: 'stream', chunks: request.body ?? noChunks() };
}

async function* noChunks(): AsyncGenerator<Uint8Array> {}
