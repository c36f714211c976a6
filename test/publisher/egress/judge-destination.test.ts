import { describe, expect, it, onTestFinished } from 'vitest';
import { createEgressClient } from '../../../src/publisher/egress/egress-client.js';
import { judgeDestination } from '../../../src/publisher/egress/judge-destination.js';
import { judgeUrl } from '../../../src/publisher/egress/judge-url.js';
import { egressRules } from '../../../src/runtime/egress-rules.js';
import { fieldCase, messageTo } from './support/clients.js';

const none = egressRules([], 'test');
const { given } = fieldCase('address-check-other-spellings');

async function resolve(host: string): Promise<readonly string[]> {
  const answer = given.resolver[host];
  if (!Array.isArray(answer)) throw Object.assign(new Error('queryA'), { code: 'ENOTFOUND', syscall: 'queryA' });
  return answer;
}

const refused = expect.objectContaining({ code: 'destination_refused' });

describe('address-check-other-spellings', () => {
  const overHttps = (given.forbidden as string[]).map((url) => url.replace('http:', 'https:'));

  it.each([...given.forbidden, ...overHttps])('%s is refused when registered', async (url) => {
    await expect(judgeDestination(url, none, resolve)).rejects.toThrow(refused);
  });

  it.each([...given.forbidden, ...overHttps])('%s is refused when sending', async (url) => {
    const client = createEgressClient(none, { resolve });
    onTestFinished(() => client.close());
    expect(await client.send(messageTo(url))).toMatchObject({
      kind: 'no_response',
      code: 'destination_refused',
      mayHaveArrived: false,
    });
  });

  it.each([...given.allowed, ...given.eitherWay])('%s is accepted', async (url) => {
    expect(await judgeDestination(url, none, resolve)).toMatchObject({ resolved: true });
  });

  it('one forbidden address among several refuses the name, and the message does not tell which', async () => {
    await expect(judgeDestination('https://mixed.example.com/x', none, resolve)).rejects.toThrow(
      expect.objectContaining({
        code: 'destination_refused',
        message: 'the URL is refused: mixed.example.com leads to an address that is not public',
      }),
    );
  });

  it('a name that does not resolve is not refused', async () => {
    expect(await judgeDestination('https://nothing.example.com/x', none, resolve)).toMatchObject({ resolved: false });
    expect(await judgeDestination('https://hooks.example.com/x', none, async () => [])).toMatchObject({
      resolved: false,
    });
  });

  it.each(given.otherSchemes as string[])('the scheme of %s is refused', (url) => {
    expect(() => judgeUrl(url, none)).toThrow(refused);
  });
});

describe('a URL', () => {
  it.each([
    ['http://hooks.example.com/x', 'its scheme is not https'],
    ['http://8.8.8.8/x', 'its scheme is not https'],
    ['wss://hooks.example.com/x', 'its scheme is not https'],
    ['https://user:secret-1@hooks.example.com/x', 'it holds a user name or a password'],
    ['https://token@hooks.example.com/x', 'it holds a user name or a password'],
    ['https://hooks.example.com/x#part', 'it has a fragment (#…)'],
    ['https://hooks.example.com/x#', 'it has a fragment (#…)'],
    ['https://hooks.example.com/a b', 'it holds spaces, control characters or backslashes'],
    [' https://hooks.example.com/', 'it holds spaces, control characters or backslashes'],
    ['https://hooks.example.com/\r\nx: y', 'it holds spaces, control characters or backslashes'],
    ['https:\\\\hooks.example.com\\x', 'it holds spaces, control characters or backslashes'],
    ['/hook', 'it is no absolute URL'],
    ['https://', 'it is no absolute URL'],
    ['https://intranet/x', 'its host is a name without a dot, which no public host has'],
    ['https://a..b.example.com/', 'its host is no name of a host'],
    ['https://app.localhost/x', 'its address is not public: it is loopback'],
    [`https://hooks.example.com/${'x'.repeat(2_048)}`, 'it is longer than 2048 characters'],
    [`https://hooks.example.com/${'語'.repeat(500)}`, 'it is longer than 2048 characters'],
  ])('%s is refused: %s', (url, why) => {
    expect(() => judgeUrl(url, none)).toThrow(
      expect.objectContaining({ code: 'destination_refused', message: `the URL is refused: ${why}` }),
    );
  });

  it('is to be kept as it was judged', async () => {
    const { url } = await judgeDestination('https://Hooks.Example.com./語?a=1', none, resolve);
    expect(url).toBe('https://hooks.example.com/%E8%AA%9E?a=1');
    expect(judgeUrl(url, none).href).toBe(url);
  });

  it('is taken in any form of a host name', () => {
    expect(judgeUrl('https://Hooks.Example.com./x?a=1', none).href).toBe('https://hooks.example.com/x?a=1');
    expect(judgeUrl('https://bücher.example/x', none).hostname).toBe('xn--bcher-kva.example');
    expect(judgeUrl('https://hooks.example.com:8443/x', none).port).toBe('8443');
  });
});

describe('what is allowed by name', () => {
  it('is spoken to over http too, whatever the name resolves to', async () => {
    const rules = egressRules(['crm', 'hooks.internal.example'], 'test');
    const privately = async (): Promise<readonly string[]> => ['10.0.0.5'];
    expect(await judgeDestination('http://crm:8080/x', rules, privately)).toMatchObject({ resolved: true });
    expect(await judgeDestination('https://Hooks.Internal.example./x', rules, privately)).toMatchObject({
      resolved: true,
    });
    await expect(judgeDestination('https://a.hooks.internal.example/x', rules, privately)).rejects.toThrow(refused);
    await expect(judgeDestination('http://hooks.example.com/x', rules, privately)).rejects.toThrow(refused);
  });

  it('covers addresses and localhost where their range is listed', () => {
    const rules = egressRules(['127.0.0.0/8', '::1'], 'test');
    for (const url of ['http://127.0.0.1:3000/x', 'http://[::1]:3000/x', 'http://localhost:3000/x']) {
      expect(judgeUrl(url, rules).href).toBe(url);
    }
    expect(() => judgeUrl('http://localhost/x', egressRules(['127.0.0.0/8'], 'test'))).toThrow(refused);
    expect(() => judgeUrl('http://10.0.0.1/x', rules)).toThrow(refused);
  });
});
