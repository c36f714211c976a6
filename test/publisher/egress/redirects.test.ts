import { describe, expect, it } from 'vitest';
import { decide } from '../../../src/publisher/decisions.js';
import type { EgressRequest } from '../../../src/publisher/egress/egress-client.js';
import { clientOf, fieldCase, messageTo } from './support/clients.js';
import { answers, rawReceiver } from './support/raw-receiver.js';

const { given } = fieldCase('delivery-answered-with-a-redirect');

interface RedirectCase {
  readonly name: string;
  readonly respond: { readonly status: number; readonly headers?: readonly (readonly [string, string])[] };
}

describe('delivery-answered-with-a-redirect', () => {
  it.each(given.endpoint.cases as RedirectCase[])('$name opens no second connection', async ({ respond }) => {
    const second = await rawReceiver(answers(200));
    const location = respond.headers?.[0]?.[1].replace('{second-local-server}', `127.0.0.1:${second.port}`);
    const receiver = await rawReceiver(answers(respond.status, location === undefined ? {} : { location }));
    const resolved: string[] = [];
    const client = clientOf({
      resolve: async (host) => {
        resolved.push(host);
        return ['127.0.0.1'];
      },
    });
    const request: Partial<EgressRequest> = { body: Buffer.from(given.message.body) };
    const exchange = await client.send(messageTo(receiver.url, request));
    await new Promise((settled) => setTimeout(settled, 50));

    expect(exchange).toMatchObject({ kind: 'response', response: { status: respond.status } });
    expect(exchange.kind === 'response' ? exchange.location : undefined).toBe(location);
    expect(decide(respond.status).decision).toBe('rejected');
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests[0]).toMatch(/^POST \/hook HTTP\/1\.1\r\n/);
    expect([receiver.connections, second.connections]).toEqual([1, 0]);
    expect(resolved).toEqual([]);
  });

  it('a redirect to itself is asked once', async () => {
    const receiver = await rawReceiver(answers(307, { location: '/hook' }));
    const exchange = await clientOf().send(messageTo(receiver.url));
    await new Promise((settled) => setTimeout(settled, 50));
    expect(exchange).toMatchObject({ response: { status: 307 }, location: '/hook' });
    expect([receiver.connections, receiver.requests.length]).toEqual([1, 1]);
  });

  it('a Location is kept to 256 characters', async () => {
    const receiver = await rawReceiver(answers(302, { location: `/${'x'.repeat(4_000)}` }));
    const exchange = await clientOf().send(messageTo(receiver.url));
    expect(exchange.kind === 'response' && exchange.location).toBe(`/${'x'.repeat(255)}`);
  });
});
