import { Agent } from 'undici';
import { describe, expect, it } from 'vitest';
import { noStatusRow } from '../../../src/publisher/decisions.js';
import { exchange } from '../../../src/publisher/egress/exchange.js';
import { clientOf, messageTo, pem, sendTo } from './support/clients.js';
import { answers, deadPort, rawReceiver } from './support/raw-receiver.js';

const failing = (code: string) => async (): Promise<readonly string[]> => {
  throw Object.assign(new Error(`queryA ${code} 10.0.0.53`), { code, syscall: 'queryA' });
};

describe('delivery-without-any-status', () => {
  it('the table says to try again', () => {
    expect(noStatusRow.decision).toBe('retry');
  });

  it.each(['EAI_AGAIN', 'ENOTFOUND', 'ESERVFAIL', 'ECONNREFUSED'])(
    'dns: a name that cannot be resolved (%s) is dns_failed, and nothing was sent',
    async (code) => {
      const client = clientOf({ resolve: failing(code) });
      expect(await client.send(messageTo('https://nothing.example.com/x'))).toEqual({
        kind: 'no_response',
        code: 'dns_failed',
        message: 'the name nothing.example.com could not be resolved',
        mayHaveArrived: false,
        durationMs: expect.any(Number),
      });
    },
  );

  it('dns-fails-once: the next attempt is delivered', async () => {
    const receiver = await rawReceiver(answers(200));
    let asked = 0;
    const client = clientOf(
      {
        resolve: async () => {
          asked += 1;
          return asked === 1 ? failing('EAI_AGAIN')() : ['127.0.0.1'];
        },
      },
      ['hooks.example.com'],
    );
    const message = messageTo(`http://hooks.example.com:${receiver.port}/hook`);
    expect(await client.send(message)).toMatchObject({ code: 'dns_failed' });
    expect(await client.send(message)).toMatchObject({ response: { status: 200 } });
    expect(receiver.requests).toHaveLength(1);
  });

  it('a name without addresses is dns_failed', async () => {
    const client = clientOf({ resolve: async () => [] });
    expect(await client.send(messageTo('https://nothing.example.com/x'))).toMatchObject({ code: 'dns_failed' });
  });

  it('refused: nothing was sent, and no address is named', async () => {
    const port = await deadPort();
    const client = clientOf({ resolve: async () => ['127.0.0.1', '::1'] }, ['hooks.example.com']);
    expect(await client.send(messageTo(`http://hooks.example.com:${port}/x`))).toEqual({
      kind: 'no_response',
      code: 'connection_refused',
      message: 'hooks.example.com refused the connection',
      mayHaveArrived: false,
      durationMs: expect.any(Number),
    });
  });

  it('refused at one of several addresses: the other one is taken', async () => {
    const receiver = await rawReceiver(answers(200), { host: '::1' });
    const client = clientOf({ resolve: async () => ['127.0.0.1', '::1'] }, ['hooks.example.com']);
    const message = messageTo(`http://hooks.example.com:${receiver.port}/x`);
    expect(await client.send(message)).toMatchObject({ response: { status: 200 } });
  });

  it('idle-connection-closed: a connection that the endpoint has closed costs no second request', async () => {
    const receiver = await rawReceiver((socket, number) => {
      answers(200)(socket, number);
      setTimeout(() => socket.destroy(), 20);
    });
    const client = clientOf();
    for (let sent = 1; sent <= 5; sent += 1) {
      const exchanged = await client.send(messageTo(receiver.url));
      expect(exchanged).toMatchObject({ response: { status: 200 } });
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(receiver.requests).toHaveLength(5);
    expect(receiver.connections).toBe(5);
  });

  it('a connection closed as the request comes in is connection_reset, and the request is not repeated', async () => {
    // The first answer makes the connection an idle one, on which undici might try again by itself.
    const receiver = await rawReceiver((socket, number) => {
      if (number === 2) socket.resetAndDestroy();
      else answers(200)(socket, number);
    });
    const client = clientOf();
    await client.send(messageTo(receiver.url));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await client.send(messageTo(receiver.url))).toMatchObject({
      kind: 'no_response',
      code: 'connection_reset',
      mayHaveArrived: true,
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(receiver.requests).toHaveLength(2);
    expect(new Set(receiver.requests.map((request) => /webhook-id: (.*)\r/.exec(request)?.[1]))).toEqual(
      new Set(['msg_out']),
    );
  });

  it('reset-after-half-the-headers: the endpoint may have acted', async () => {
    const receiver = await rawReceiver((socket, number) => {
      if (number === 1) socket.end('HTTP/1.1 200 OK\r\ncontent-le');
      else answers(200)(socket, number);
    });
    const client = clientOf();
    expect(await client.send(messageTo(receiver.url))).toMatchObject({
      code: 'connection_reset',
      message: 'the connection ended before an answer came from 127.0.0.1',
      mayHaveArrived: true,
    });
    expect(await client.send(messageTo(receiver.url))).toMatchObject({ response: { status: 200 } });
    expect(receiver.requests).toHaveLength(2);
  });

  it('a reset without any byte is connection_reset', async () => {
    const receiver = await rawReceiver((socket) => void socket.resetAndDestroy());
    expect(await sendTo(receiver.url)).toMatchObject({ code: 'connection_reset', mayHaveArrived: true });
  });

  it('headers-never-come: the deadline ends it, and closes the socket', async () => {
    const receiver = await rawReceiver(() => {});
    const answer = await sendTo(receiver.url, { timeoutMs: 200 });
    expect(answer).toMatchObject({ code: 'response_timeout', mayHaveArrived: true });
    expect(answer.kind === 'no_response' && answer.durationMs).toBeGreaterThanOrEqual(199);
    expect(answer.kind === 'no_response' && answer.durationMs).toBeLessThan(1_000);
    await receiver.idle();
  });

  it('headers that do not come in their own time end it before the deadline', async () => {
    const receiver = await rawReceiver(() => {});
    const agent = new Agent();
    const { headers, body } = messageTo(receiver.url);
    const request = { url: new URL(receiver.url), headers, body, timeoutMs: 30_000, headersTimeoutMs: 100 };
    expect(await exchange(agent, request, Date.now)).toMatchObject({ code: 'response_timeout', mayHaveArrived: true });
    await receiver.idle();
    await agent.close();
  });

  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['HTTP/2 without asking', 'HTTP/2 200 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ])('what is no HTTP (%s) is response_malformed', async (_name, bytes) => {
    const receiver = await rawReceiver((socket) => void socket.write(bytes));
    expect(await sendTo(receiver.url)).toMatchObject({ code: 'response_malformed', mayHaveArrived: true });
    await receiver.idle();
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('a connection that does not come about', () => {
  it('in a TLS handshake without end is connect_timeout after 3 s, and nothing was sent', async () => {
    const receiver = await rawReceiver(() => {});
    const exchanged = await sendTo(receiver.url.replace('http:', 'https:'), { timeoutMs: 15_000 });
    expect(exchanged).toMatchObject({
      code: 'connect_timeout',
      message: 'no connection to 127.0.0.1 within 3000 ms',
      mayHaveArrived: false,
    });
    expect(exchanged.kind === 'no_response' && exchanged.durationMs).toBeLessThan(3_500);
    await receiver.idle();
  });

  it('is connect_timeout at the deadline, and the request is not sent when the connection comes later', async () => {
    const receiver = await rawReceiver(answers(200));
    let answerResolver = (_addresses: readonly string[]): void => {};
    const client = clientOf({ resolve: () => new Promise((resolve) => (answerResolver = resolve)) }, [
      'hooks.example.com',
    ]);
    const message = messageTo(`http://hooks.example.com:${receiver.port}/x`, { timeoutMs: 100 });
    expect(await client.send(message)).toMatchObject({ code: 'connect_timeout', mayHaveArrived: false });
    answerResolver(['127.0.0.1']);
    await client.close();
    await receiver.idle();
    expect([receiver.connections, receiver.requests.length]).toEqual([1, 0]);
  });
});

describe('TLS', () => {
  const serve = (certificate: string) => ({ tls: { key: pem('server.key'), cert: pem(certificate) } });
  const client = () => clientOf({ ca: pem('ca.pem'), resolve: async () => ['127.0.0.1'] }, ['hooks.example.com']);

  it('a trusted certificate for the name is taken', async () => {
    const receiver = await rawReceiver(answers(204), serve('server.pem'));
    const message = messageTo(`https://hooks.example.com.:${receiver.port}/x`);
    expect(await client().send(message)).toMatchObject({ kind: 'response', response: { status: 204 } });
    expect(receiver.requests[0]).toContain(`\r\nhost: hooks.example.com:${receiver.port}\r\n`);
  });

  it.each([
    ['expired.pem', 'CERT_HAS_EXPIRED'],
    ['self-signed.pem', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['other-name.pem', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('tls-certificate: %s is tls_failed, and nothing was sent', async (certificate, code) => {
    const receiver = await rawReceiver(answers(200), serve(certificate));
    expect(await client().send(messageTo(`https://hooks.example.com:${receiver.port}/x`))).toEqual({
      kind: 'no_response',
      code: 'tls_failed',
      message: `no trusted TLS connection to hooks.example.com (${code})`,
      mayHaveArrived: false,
      durationMs: expect.any(Number),
    });
    await receiver.idle();
    expect(receiver.requests).toEqual([]);
  });

  it('NODE_TLS_REJECT_UNAUTHORIZED changes nothing', async () => {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      const receiver = await rawReceiver(answers(200), serve('self-signed.pem'));
      const message = messageTo(`https://hooks.example.com:${receiver.port}/x`);
      expect(await client().send(message)).toMatchObject({ code: 'tls_failed' });
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  it('a certificate must be for the address where the URL has one', async () => {
    const receiver = await rawReceiver(answers(200), serve('server.pem'));
    const strict = clientOf({ ca: pem('ca.pem') });
    expect(await strict.send(messageTo(receiver.url))).toMatchObject({ code: 'tls_failed', mayHaveArrived: false });
  });

  it.each([
    ['plain HTTP', () => 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['nothing', () => ''],
  ])('a server that answers the handshake with %s is tls_failed', async (_name, bytes) => {
    const receiver = await rawReceiver(() => {}, {
      onConnection: (socket) => socket.once('data', () => socket.end(bytes())),
    });
    const exchanged = await client().send(messageTo(`https://hooks.example.com:${receiver.port}/x`));
    expect(exchanged).toMatchObject({ code: 'tls_failed', mayHaveArrived: false });
  });
});
