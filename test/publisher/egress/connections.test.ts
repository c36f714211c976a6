import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { judgeDestination } from '../../../src/publisher/egress/judge-destination.js';
import { egressRules } from '../../../src/runtime/egress-rules.js';
import { clientOf, messageTo, pem } from './support/clients.js';
import { answers, rawReceiver } from './support/raw-receiver.js';

const tls = { key: pem('server.key'), cert: pem('server.pem') };

describe('rebinding', () => {
  it('a name that leads to a forbidden address the second time gets no connection', async () => {
    const receiver = await rawReceiver(answers(200), { tls });
    const inner = await rawReceiver(answers(200), { tls, host: '127.0.0.2' });
    const given = [['127.0.0.1'], ['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1', '127.0.0.2']];
    let asked = 0;
    const resolve = async (): Promise<readonly string[]> => given[asked++]!;
    const allow = ['127.0.0.1'];
    const client = clientOf({ resolve, ca: pem('ca.pem') }, allow);
    const url = `https://hooks.example.com:${receiver.port}/x`;
    const message = messageTo(url, { headers: { connection: 'close' } });

    expect(await judgeDestination(url, egressRules(allow, 'test'), resolve)).toMatchObject({ resolved: true });
    expect(await client.send(message)).toMatchObject({ response: { status: 200 } });
    for (const _forbidden of [1, 2]) {
      expect(await client.send(message)).toEqual({
        kind: 'no_response',
        code: 'destination_refused',
        message: 'hooks.example.com leads to an address that is not public',
        mayHaveArrived: false,
        durationMs: expect.any(Number),
      });
    }
    expect([receiver.connections, inner.connections]).toEqual([1, 0]);
    expect(asked).toBe(4);
  });

  it('the address that was judged is the one connected to: the name is asked for once per connection', async () => {
    const receiver = await rawReceiver(answers(200), { tls, host: '::1' });
    let asked = 0;
    const resolve = async (): Promise<readonly string[]> => {
      asked += 1;
      return ['::1'];
    };
    const client = clientOf({ resolve, ca: pem('ca.pem') });
    const message = messageTo(`https://hooks.example.com:${receiver.port}/x`);
    expect(await client.send(message)).toMatchObject({ response: { status: 200 } });
    expect([asked, receiver.connections]).toEqual([1, 1]);
  });

  it('an address in a spelling that a connection would not take as it is gets none', async () => {
    const client = clientOf({ resolve: async () => ['0x7f.1'] });
    const exchange = await client.send(messageTo('https://hooks.example.com/x'));
    expect(exchange).toMatchObject({ code: 'destination_refused' });
  });
});

describe('connections', () => {
  it.each(['127.0.0.1', '::1'])('are used again, at %s', async (host) => {
    const receiver = await rawReceiver(answers(200), { host });
    const client = clientOf();
    for (let sent = 1; sent <= 20; sent += 1) {
      expect(await client.send(messageTo(receiver.url))).toMatchObject({ response: { status: 200 } });
    }
    expect(receiver.requests).toHaveLength(20);
    expect(receiver.connections).toBeLessThanOrEqual(2);
  });

  it('of a busy endpoint are made anew after 30 s, judged again, and what is under way on them ends in peace', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const held: (() => void)[] = [];
    const receiver = await rawReceiver((socket, number) => {
      const answer = () => answers(200)(socket, number);
      if (number === 1) held.push(answer);
      else answer();
    });
    let leadsTo = '127.0.0.1';
    const client = clientOf({ resolve: async () => [leadsTo] }, ['127.0.0.1', 'hooks.example.com']);
    const judged = clientOf({ resolve: async () => [leadsTo], ca: pem('ca.pem') }, ['127.0.0.1']);
    const secure = await rawReceiver(answers(200), { tls });
    const plain = messageTo(`http://hooks.example.com:${receiver.port}/x`);
    const toJudge = messageTo(`https://hooks.example.com:${secure.port}/x`);

    const underWay = client.send(plain);
    while (receiver.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    for (let sent = 1; sent <= 20; sent += 1) {
      expect(await client.send(plain)).toMatchObject({ response: { status: 200 } });
      expect(await judged.send(toJudge)).toMatchObject({ response: { status: 200 } });
      vi.setSystemTime(Date.now() + 1_000);
    }
    const before = receiver.connections;
    expect(before).toBeLessThanOrEqual(3);
    expect(secure.connections).toBeLessThanOrEqual(2);

    leadsTo = '127.0.0.2';
    vi.setSystemTime(Date.now() + 31_000);
    expect(await judged.send(toJudge)).toMatchObject({ code: 'destination_refused', mayHaveArrived: false });
    leadsTo = '127.0.0.1';
    const several = await Promise.all([1, 2, 3].map(() => client.send(plain)));
    for (const exchange of several) expect(exchange).toMatchObject({ response: { status: 200 } });
    expect(receiver.connections).toBe(before + 3);
    held[0]!();
    expect(await underWay).toMatchObject({ response: { status: 200 } });
  });

  it('are closed with the client', async () => {
    const receiver = await rawReceiver(answers(200));
    const client = clientOf();
    await client.send(messageTo(receiver.url));
    await client.close();
    await receiver.idle();
  });

  it('carry the request as it was given', async () => {
    const receiver = await rawReceiver(answers(200));
    const body = Buffer.from('{"price":"3 €"}');
    await clientOf().send(messageTo(`${receiver.url}?a=1&b=%20`, { body, headers: { 'webhook-id': 'msg_1' } }));
    const [head, sent] = receiver.requests[0]!.split('\r\n\r\n') as [string, string];
    expect(head).toMatch(/^POST \/hook\?a=1&b=%20 HTTP\/1\.1\r\n/);
    expect(head).toContain('\r\nwebhook-id: msg_1\r\n');
    expect(head).toMatch(/\r\nuser-agent: Onefold\/\d+\.\d+\.\d+ \(webhooks\)\r\n/);
    expect(head).toContain(`\r\ncontent-length: ${body.length}`);
    expect(Buffer.from(sent, 'latin1')).toEqual(body);
  });
});

describe('a signal', () => {
  it('ends an exchange under way with its reason, and its connection', async () => {
    const receiver = await rawReceiver(() => {});
    const controller = new AbortController();
    const onSending = vi.fn();
    const sending = clientOf().send(messageTo(receiver.url, { signal: controller.signal, onSending }));
    while (receiver.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const reason = new Error('the worker stops');
    controller.abort(reason);
    await expect(sending).rejects.toBe(reason);
    expect(onSending).toHaveBeenCalledOnce();
    await receiver.idle();
  });

  it('that aborts while connecting ends it before anything is said to be sent', async () => {
    const receiver = await rawReceiver(answers(200));
    const controller = new AbortController();
    let answerResolver = (_addresses: readonly string[]): void => {};
    const client = clientOf({ resolve: () => new Promise((resolve) => (answerResolver = resolve)) }, [
      'hooks.example.com',
    ]);
    const onSending = vi.fn();
    const more = { signal: controller.signal, onSending };
    const sending = client.send(messageTo(`http://hooks.example.com:${receiver.port}/x`, more));
    const reason = new Error('the worker stops');
    controller.abort(reason);
    await expect(sending).rejects.toBe(reason);
    answerResolver(['127.0.0.1']);
    await client.close();
    expect(onSending).not.toHaveBeenCalled();
    expect(receiver.requests).toEqual([]);
  });

  it('that aborted before lets nothing out', async () => {
    const receiver = await rawReceiver(answers(200));
    const reason = new Error('the worker stops');
    const sending = clientOf().send(messageTo(receiver.url, { signal: AbortSignal.abort(reason) }));
    await expect(sending).rejects.toBe(reason);
    expect(receiver.connections).toBe(0);
  });
});

it('a header that is none is a defect, not an answer', async () => {
  const receiver = await rawReceiver(answers(200));
  const sending = clientOf().send(messageTo(receiver.url, { headers: { 'x-bad': 'a\r\nx-injected: b' } }));
  await expect(sending).rejects.toThrow('invalid x-bad header');
  expect(receiver.requests).toEqual([]);
});
