import { type EventEmitter, once } from 'node:events';
import { createServer, request as nodeRequest, type RequestListener } from 'node:http';
import { createServer as createSecureServer, request as nodeSecureRequest } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import Stripe from 'stripe';
import { Agent, type Dispatcher, fetch as undiciFetch, request as undiciRequest } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { NotDoneError, NotYetError, OutcomeUnknownError, PermanentError } from '../../src/effects/errors.js';
import { HttpError, httpFailure } from '../../src/effects/http-failure.js';
import { provesNothingDone, settlesKey } from '../../src/effects/proves-nothing-done.js';
import { OnefoldError } from '../../src/errors.js';
import { makeCertificate } from './support/make-certificate.js';

/** Sends what an effect would send, and returns what it throws. */
type Client = (url: string, options?: ClientOptions) => Promise<unknown>;

interface ClientOptions {
  readonly ca?: string;
  readonly signal?: AbortSignal;
  readonly connect?: Record<string, unknown>;
  readonly headersTimeoutMs?: number;
}

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
  await closing.pop()?.();
  return port;
}

/** Large enough not to fit into one segment, so that its sending can break in the middle. */
const body = 'x'.repeat(100_000);

async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('expected the request to fail');
}

function dispatcherOf({ ca, connect, headersTimeoutMs }: ClientOptions): Dispatcher {
  const agent = new Agent({
    connect: { ...(ca === undefined ? {} : { ca }), ...connect },
    ...(headersTimeoutMs === undefined ? {} : { headersTimeout: headersTimeoutMs }),
  });
  closing.push(() => agent.destroy());
  return agent;
}

const signalOf = ({ signal }: ClientOptions) => (signal ? { signal } : {});

const clients: Readonly<Record<string, Client>> = {
  "Node's fetch": (url, options = {}) =>
    thrownBy(async () => (await fetch(url, { method: 'POST', body, ...signalOf(options) })).text()),
  "undici's fetch": (url, options = {}) =>
    thrownBy(async () => {
      const init = { method: 'POST', body, dispatcher: dispatcherOf(options), ...signalOf(options) };
      return (await undiciFetch(url, init)).text();
    }),
  "undici's request": (url, options = {}) =>
    thrownBy(async () => {
      const init = { method: 'POST', body, dispatcher: dispatcherOf(options), ...signalOf(options) } as const;
      return (await undiciRequest(url, init)).body.text();
    }),
  "Node's http and https": (url, { ca, signal, connect } = {}) =>
    thrownBy(
      () =>
        new Promise((resolve, reject) => {
          const open = url.startsWith('https:') ? nodeSecureRequest : nodeRequest;
          const sent = open(url, { method: 'POST', agent: false, ...(signal ? { signal } : {}), ca, ...connect });
          sent.on('error', reject).on('response', (response) => {
            response.on('error', reject).on('end', resolve).resume();
          });
          sent.end(body);
        }),
    ),
};

/** The code that decided: of the error or the first of its causes that has one. */
function codeOf(thrown: unknown): unknown {
  const { code, cause } = (thrown ?? {}) as { code?: unknown; cause?: unknown };
  return typeof code === 'string' ? code : cause === undefined ? undefined : codeOf(cause);
}

describe.each(Object.entries(clients))('with %s', (name, send) => {
  const takesAuthority = name !== "Node's fetch";

  test('a refused connection is proof', async () => {
    const thrown = await send(`http://127.0.0.1:${await closedPort()}/`);
    expect(codeOf(thrown)).toBe('ECONNREFUSED');
    expect(provesNothingDone(thrown)).toBe(true);
  });

  test('a name without an address is proof', async () => {
    const thrown = await send('http://recipient.invalid/');
    expect(codeOf(thrown)).toMatch(/^ENOTFOUND$|^EAI_AGAIN$/);
    expect(provesNothingDone(thrown)).toBe(true);
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('a certificate that is refused over %s is proof', async (version) => {
    const root = makeCertificate({ host: 'root' });
    const refused = {
      DEPTH_ZERO_SELF_SIGNED_CERT: makeCertificate({ host: 'localhost' }),
      ...(takesAuthority
        ? {
            CERT_HAS_EXPIRED: makeCertificate({ host: 'localhost', notAfter: new Date('2021-01-01'), issuer: root }),
            ERR_TLS_CERT_ALTNAME_INVALID: makeCertificate({ host: 'other.example', issuer: root }),
          }
        : { UNABLE_TO_VERIFY_LEAF_SIGNATURE: makeCertificate({ host: 'localhost', issuer: root }) }),
    };
    for (const [code, { cert, key }] of Object.entries(refused)) {
      let bytes = 0;
      const server = createSecureServer({ cert, key, minVersion: version, maxVersion: version });
      server.on('secureConnection', (socket) => socket.on('data', (chunk: Buffer) => (bytes += chunk.length)));
      const ended = once(server, 'connection').then(([socket]) => once(socket as EventEmitter, 'close'));
      const url = `https://localhost:${await listen(server)}/`;
      const thrown = await send(url, { ca: root.cert });
      await ended;
      expect(codeOf(thrown)).toBe(code);
      expect(provesNothingDone(thrown)).toBe(true);
      expect(bytes, 'what the server could decrypt').toBe(0);
    }
  });

  test('a handshake that the other side does not understand is none', async () => {
    const thrown = await send(`https://127.0.0.1:${await listen(createServer())}/`);
    expect(codeOf(thrown)).toMatch(/^ERR_SSL_|^EPROTO$/);
    expect(provesNothingDone(thrown)).toBe(false);
  });

  test('a connection that is reset at once is none', async () => {
    const server = createTcpServer((socket) => socket.resetAndDestroy());
    expect(provesNothingDone(await send(`http://127.0.0.1:${await listen(server)}/`))).toBe(false);
  });

  test('a connection that is dropped after the request was read is none', async () => {
    const act: RequestListener = (incoming, response) => {
      incoming.resume().on('end', () => response.socket?.destroy());
    };
    expect(provesNothingDone(await send(`http://127.0.0.1:${await listen(createServer(act))}/`))).toBe(false);
  });

  test('an answer that breaks off is none', async () => {
    const act: RequestListener = (incoming, response) => {
      incoming.resume().on('end', () => {
        response.writeHead(200, { 'content-length': '100' }).write('done, and th');
        setTimeout(() => response.socket?.destroy(), 20);
      });
    };
    expect(provesNothingDone(await send(`http://127.0.0.1:${await listen(createServer(act))}/`))).toBe(false);
  });

  test.each([
    ['an abort', () => AbortSignal.abort()],
    ['a deadline', () => AbortSignal.timeout(50)],
  ])('%s is none', async (_what, signal) => {
    const url = `http://127.0.0.1:${await listen(createServer((incoming) => incoming.resume()))}/`;
    expect(provesNothingDone(await send(url, { signal: signal() }))).toBe(false);
  });
});

describe.each(Object.entries(clients).filter(([name]) => name !== "Node's fetch"))('with %s', (_name, send) => {
  const accepting = { connect: { rejectUnauthorized: false } };

  test('a certificate that is accepted lets the request through', async () => {
    const { cert, key } = makeCertificate({ host: 'localhost' });
    const received: number[] = [];
    const server = createSecureServer({ cert, key }, (incoming, response) => {
      incoming.on('data', (chunk: Buffer) => received.push(chunk.length));
      incoming.on('end', () => response.socket?.destroy());
    });
    expect(provesNothingDone(await send(`https://localhost:${await listen(server)}/`, accepting))).toBe(false);
    expect(received.reduce((sum, length) => sum + length, 0)).toBe(body.length);
  });

  test('a server that refuses our certificate over TLS 1.3 is none, since the request may have arrived', async () => {
    const { cert, key } = makeCertificate({ host: 'localhost' });
    const tls = { cert, key, minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized: true } as const;
    const server = createSecureServer(tls);
    server.on('tlsClientError', () => {});
    const thrown = await send(`https://localhost:${await listen(server)}/`, accepting);
    expect(codeOf(thrown)).toMatch(/^ERR_SSL_|^EPROTO$|^ECONNRESET$|^EPIPE$|^UND_ERR_SOCKET$/);
    expect(provesNothingDone(thrown)).toBe(false);
  });
});

describe('with undici', () => {
  test('a handshake that is not done in time is proof, and the server got nothing but its beginning', async () => {
    const server = createTcpServer();
    let bytes = 0;
    server.on('connection', (socket) => socket.on('data', (chunk) => (bytes += chunk.length)));
    const thrown = await clients["undici's request"]?.(`https://localhost:${await listen(server)}/`, {
      connect: { timeout: 100 },
    });
    expect(codeOf(thrown)).toBe('UND_ERR_CONNECT_TIMEOUT');
    expect(provesNothingDone(thrown)).toBe(true);
    expect(bytes).toBeLessThan(body.length);
  });

  test('an answer that does not begin in time is none', async () => {
    const url = `http://127.0.0.1:${await listen(createServer((incoming) => incoming.resume()))}/`;
    const thrown = await clients["undici's request"]?.(url, { headersTimeoutMs: 100 });
    expect(codeOf(thrown)).toBe('UND_ERR_HEADERS_TIMEOUT');
    expect(provesNothingDone(thrown)).toBe(false);
  });

  test('all addresses of a name refusing is proof', async () => {
    const lookup = (_host: string, _options: unknown, callback: (...found: unknown[]) => void) =>
      callback(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ]);
    const thrown = await clients["undici's request"]?.(`http://recipient.example:${await closedPort()}/`, {
      connect: { lookup, autoSelectFamily: true },
    });
    expect(thrown).toBeInstanceOf(AggregateError);
    expect(provesNothingDone(thrown)).toBe(true);
  });
});

test('a redirect that is not followed is none', async () => {
  const act: RequestListener = (incoming, response) => {
    incoming.resume().on('end', () => response.writeHead(303, { location: 'http://recipient.invalid/' }).end());
  };
  const url = `http://127.0.0.1:${await listen(createServer(act))}/`;
  const response = await fetch(url, { method: 'POST', body, redirect: 'manual' });
  expect(provesNothingDone(httpFailure(response))).toBe(false);
});

describe("with Stripe's SDK", () => {
  const charge = (port: number) =>
    thrownBy(() => {
      const options = { host: '127.0.0.1', port, protocol: 'http', maxNetworkRetries: 0, telemetry: false } as const;
      return new Stripe('sk_test_unused', options).charges.create({ amount: 100, currency: 'eur' });
    });
  const answering = (status: number, error: object) =>
    listen(
      createServer((incoming, response) => {
        incoming.resume().on('end', () => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
        });
      }),
    );

  test('a declined card is proof', async () => {
    const thrown = await charge(await answering(402, { type: 'card_error', code: 'card_declined' }));
    expect(thrown).toBeInstanceOf(Stripe.errors.StripeCardError);
    expect(provesNothingDone(thrown)).toBe(true);
  });

  test.each([409, 429, 500])('a %i is none', async (status) => {
    const thrown = await charge(await answering(status, { type: 'api_error' }));
    expect(thrown).toBeInstanceOf(Stripe.errors.StripeError);
    expect(provesNothingDone(thrown)).toBe(false);
  });

  test('a refused connection is proof once its wrapping is taught in one line', async () => {
    const own = (error: unknown) =>
      error instanceof Stripe.errors.StripeConnectionError ? provesNothingDone(error.detail) : undefined;
    const thrown = await charge(await closedPort());
    expect(provesNothingDone(thrown)).toBe(false);
    expect(provesNothingDone(thrown, own)).toBe(true);
  });
});

/** An error with fields, as clients make them. */
const error = (fields: object, cause?: unknown) =>
  Object.assign(new Error('failed', cause === undefined ? {} : { cause }), fields);

const statuses = Array.from({ length: 500 }, (_, index) => 100 + index);
const proofs = statuses.filter(
  (status) => status >= 400 && status < 500 && status !== 408 && status !== 409 && status !== 425 && status !== 429,
);

test.each<[string, (status: number) => object]>([
  ['httpFailure', (status) => httpFailure({ status })],
  ['status', (status) => error({ status })],
  ['statusCode', (status) => error({ statusCode: status })],
  ["its response's status", (status) => error({ response: { status } })],
  ["its response's statusCode", (status) => error({ response: { statusCode: status } })],
  ['$metadata', (status) => error({ $metadata: { httpStatusCode: status } })],
  ['a cause', (status) => error({}, error({}, error({ status })))],
])('of the statuses carried by %s, 4xx is proof but for 408, 409, 425 and 429', (_where, carry) => {
  expect(statuses.filter((status) => provesNothingDone(carry(status)))).toEqual(proofs);
});

const refusedConnection = error({ code: 'ECONNREFUSED', syscall: 'connect' });
const brokenConnection = error({ code: 'ECONNRESET', syscall: 'read' });

test.each<[string, unknown]>([
  ['NotDoneError', new NotDoneError('no')],
  ['PermanentError', new PermanentError('never')],
  ['NotYetError', new NotYetError('60s')],
  ['NotDoneError whose cause is doubtful', new NotDoneError('no', { cause: brokenConnection })],
  ['a plain object with a status', { status: 404 }],
  ['a refusal that a client copied', error({ code: 'ECONNREFUSED' })],
  ['a timeout of connecting', error({ code: 'ETIMEDOUT', syscall: 'connect' })],
  [
    'a timeout copied from one of connecting',
    error({ code: 'ETIMEDOUT' }, error({ code: 'ETIMEDOUT', syscall: 'connect' })),
  ],
  ['a host that cannot be reached', error({ code: 'EHOSTUNREACH', syscall: 'connect' })],
  ['several refusals', new AggregateError([refusedConnection, error({ status: 404 })])],
])('%s is proof', (_what, thrown) => {
  expect(provesNothingDone(thrown)).toBe(true);
});

test.each<[string, unknown]>([
  ['OutcomeUnknownError', new OutcomeUnknownError('?')],
  ['OutcomeUnknownError whose cause is proof', new OutcomeUnknownError('?', { cause: refusedConnection })],
  ['an error whose cause is OutcomeUnknownError', error({ status: 404 }, new OutcomeUnknownError('?'))],
  ['an error whose cause is NotDoneError', error({}, new NotDoneError('no'))],
  ['an error of ours', new OnefoldError('ledger_unavailable', 'away', { cause: refusedConnection })],
  ['an error of any kind', new Error('no')],
  ['a TypeError', new TypeError('no')],
  ['undefined', undefined],
  ['null', null],
  ['a string', 'ECONNREFUSED'],
  ['a refusal that is no failure to connect', error({ code: 'ECONNREFUSED', syscall: 'queryA' })],
  ['a timeout of reading', error({ code: 'ETIMEDOUT', syscall: 'read' })],
  ['a timeout of no known place', error({ code: 'ETIMEDOUT' })],
  ['a network lost while reading', error({ code: 'ENETUNREACH', syscall: 'read' })],
  ['a broken pipe', error({ code: 'EPIPE', syscall: 'write' })],
  ['a refusal over a broken connection', error({ status: 404 }, brokenConnection)],
  ['a 404 with a doubtful cause', error({ status: 404 }, error({ status: 503 }))],
  ['two statuses that disagree', error({ status: 404, response: { status: 502 } })],
  ['a response after a redirect', error({ response: { status: 404, redirected: true } })],
  ['HttpError after a redirect', new HttpError(404, { redirected: true })],
  ['several, one of them doubtful', new AggregateError([refusedConnection, brokenConnection])],
  ['several, one of them unexplained', new AggregateError([refusedConnection, new Error('no')])],
  ['none of several', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })],
])('%s is no proof', (_what, thrown) => {
  expect(provesNothingDone(thrown)).toBe(false);
});

test('a chain of causes that is a circle is read once', () => {
  const outer = error({});
  outer.cause = error({ status: 404 }, outer);
  expect(provesNothingDone(outer)).toBe(true);
});

test('an error that holds itself is no proof', () => {
  const circle = new AggregateError([]);
  circle.errors.push(circle);
  expect(provesNothingDone(circle)).toBe(false);
});

test('a list too long to be read to its end is no proof', () => {
  expect(provesNothingDone(new AggregateError(Array(64).fill(refusedConnection)))).toBe(true);
  expect(provesNothingDone(new AggregateError(Array(65).fill(refusedConnection)))).toBe(false);
});

test('a chain too long to be read to its end is no proof', () => {
  let chained = error({ status: 404 });
  for (let length = 0; length < 100; length += 1) chained = error({ status: 404 }, chained);
  expect(provesNothingDone(chained)).toBe(false);
});

test.each([true, false])("the effect's own word %s wins over what the error seems to be", (word) => {
  expect(provesNothingDone(refusedConnection, () => word)).toBe(word);
  expect(provesNothingDone(brokenConnection, () => word)).toBe(word);
});

test('an error that says it itself is not put to the effect', () => {
  const asked = () => {
    throw new Error('was asked');
  };
  expect(provesNothingDone(new NotDoneError('no'), () => false)).toBe(true);
  expect(provesNothingDone(new OutcomeUnknownError('?'), () => true)).toBe(false);
  expect(provesNothingDone(new NotDoneError('no'), asked)).toBe(true);
});

test.each<[string, (error: unknown) => unknown]>([
  ['undefined', () => undefined],
  ['a promise', async () => true],
  ['something truthy', () => 1],
  [
    'nothing, since it throws',
    () => {
      throw new Error('own');
    },
  ],
])("where the effect's own word is %s, the error is judged", (_what, own) => {
  expect(provesNothingDone(refusedConnection, own as () => boolean)).toBe(true);
  expect(provesNothingDone(brokenConnection, own as () => boolean)).toBe(false);
});

test('an error that cannot be read is no proof, and does not get out', () => {
  const unreadable = new Proxy(new Error('no'), {
    get() {
      throw new Error('trap');
    },
  });
  expect(provesNothingDone(unreadable)).toBe(false);
  expect(settlesKey(unreadable)).toBe(false);
});

test('the key is settled only where the error says so', () => {
  expect(settlesKey(new NotDoneError('no', { settlesKey: true }))).toBe(true);
  expect(settlesKey(new PermanentError('never', { settlesKey: true }))).toBe(true);
  expect(settlesKey(new NotDoneError('no', { settlesKey: false }))).toBe(false);
  expect(settlesKey(new PermanentError('never'))).toBe(false);
  expect(settlesKey(new NotYetError('60s'))).toBe(false);
  expect(settlesKey(Object.assign(new Error('no'), { settlesKey: true }))).toBe(false);
  expect(settlesKey(undefined)).toBe(false);
});

test('a verdict is understood across copies of the package', () => {
  const mark = Symbol.for('onefold.effect-verdict');
  expect(provesNothingDone(error({ [mark]: { code: 'not_done' } }))).toBe(true);
  expect(settlesKey(error({ [mark]: { code: 'not_done', settlesKey: true } }))).toBe(true);
});
