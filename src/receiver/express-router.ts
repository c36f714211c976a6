import { type Request, type Response, Router } from 'express';
import type { HeaderMap } from '../sources/source.js';
import type { InFlight } from './in-flight.js';
import type { ReceivedBody, ReceiverRequest, ReceiverResponse } from './receiver-request.js';

/**
 * After an answer that closes the connection, what still arrives is discarded for this long, ms: closing at once would
 * reset the connection, and the reset may overtake the answer.
 */
const lingerMs = 1_000;

/**
 * Puts a receiver into an Express router. It takes `/<source>` below its mount, whatever the method; anything deeper is
 * left to the application.
 *
 * @param inFlight Counts each request until its answer has left, which a drain waits for.
 */
export function expressRouter(
  handle: (request: ReceiverRequest) => Promise<ReceiverResponse>,
  inFlight: InFlight,
): Router {
  const router = Router();
  router.use((request, response, next) => {
    if (!/^\/[^/]+\/?$/.test(request.path)) return next();
    return inFlight.track(serve(handle, request, response));
  });
  return router;
}

async function serve(
  handle: (request: ReceiverRequest) => Promise<ReceiverResponse>,
  request: Request,
  response: Response,
): Promise<void> {
  const gone = new AbortController();
  const left = new Promise<void>((resolve) => response.once('close', resolve));
  response.once('close', () => gone.abort());
  const answer = await handle({
    method: request.method,
    path: request.path,
    url: `${request.protocol}://${request.host}${request.originalUrl}`,
    headers: headerMap(request.rawHeaders),
    body: bodyOf(request),
    ...(request.socket.remoteAddress === undefined ? {} : { remoteAddress: request.socket.remoteAddress }),
    signal: gone.signal,
  });
  if (gone.signal.aborted) return;
  const content = Buffer.from(answer.body);
  response.writeHead(answer.status, {
    ...answer.headers,
    ...(answer.body === '' ? {} : { 'content-length': content.byteLength }),
  });
  if (answer.headers.connection === 'close' && !request.complete) {
    response.write(content);
    await discardRest(request);
    response.end();
  } else {
    response.end(content);
  }
  await left;
}

/** Lines of one name stay apart: some schemes send several signatures so, and joining them would change the text. */
function headerMap(rawHeaders: readonly string[]): HeaderMap {
  const map: Record<string, string | string[]> = Object.create(null);
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    const value = rawHeaders[index + 1] as string;
    const earlier = map[name];
    map[name] = earlier === undefined ? value : [...[earlier].flat(), value];
  }
  return map;
}

/**
 * Where the bytes are, whatever middleware stands in front: kept by `express.raw` or by a `verify` that set
 * `req.rawBody`, gone when something read the stream and kept only what it parsed, else still to be read. `req.body`
 * alone says nothing, since some parsers set it to `{}` for bodies that they left alone.
 */
function bodyOf(request: Request & { rawBody?: unknown }): ReceivedBody {
  for (const kept of [request.rawBody, request.body]) {
    if (kept instanceof Uint8Array) return { kind: 'kept', bytes: kept };
  }
  if (request.readableDidRead || request.readableEnded) return { kind: 'consumed' };
  // Breaking off must leave the socket open for the answer.
  return { kind: 'stream', chunks: request.iterator({ destroyOnReturn: false }) };
}

function discardRest(request: Request): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, lingerMs);
    request.once('end', done).once('close', done).resume();
  });
}
