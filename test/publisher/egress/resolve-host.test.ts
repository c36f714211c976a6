import { createSocket } from 'node:dgram';
import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { expect, it, onTestFinished } from 'vitest';
import { hostResolver } from '../../../src/publisher/egress/resolve-host.js';
import { egressRules } from '../../../src/runtime/egress-rules.js';

const none = egressRules([], 'test');

type NameAnswer = string | undefined;

/**
 * A name server for one test. An address of the other family says that the name has none of the one that was asked for, a
 * name that it is an alias; `undefined` leaves the question without an answer.
 */
async function nameServer(answer: (host: string, family: 4 | 6) => NameAnswer | Promise<NameAnswer>): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', async (question, from) => {
    const end = question.indexOf(0, 12);
    const labels: string[] = [];
    for (let at = 12; at < end; at += 1 + question[at]!) {
      labels.push(question.toString('latin1', at + 1, at + 1 + question[at]!));
    }
    const type = question.readUInt16BE(end + 1);
    const family = type === 1 ? 4 : 6;
    const address = await answer(labels.join('.'), family);
    if (address === undefined) return;
    const known = [0, family].includes(isIP(address));
    // The question again, with the bits of an answer, no error, and one record that points back at the name.
    const head = Buffer.from(question.subarray(0, end + 5));
    head.writeUInt16BE(0x8180, 2);
    head.writeUInt16BE(known ? 1 : 0, 6);
    head.writeUInt32BE(0, 8);
    const bytes = isIP(address) > 0 ? ipaddr.parse(address).toByteArray() : nameBytes(address);
    const kind = isIP(address) > 0 ? type : 5;
    const record = Buffer.from([0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]);
    socket.send(known ? Buffer.concat([head, record]) : head, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

it('names of others are asked of the name servers', async () => {
  const server = await nameServer((host) => (host === 'hooks.example.com' ? '8.8.8.8' : '8.8.4.4'));
  expect(await hostResolver(none, [server])('hooks.example.com')).toEqual(['8.8.8.8']);
});

function nameBytes(name: string): readonly number[] {
  return [...name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]), 0];
}

const both = { 4: '8.8.8.8', 6: '2001:4860:4860::8888' } as const;

it.each([4, 6] as const)(
  'questions for IPv%i that are dropped hold up the other family by a quarter second',
  async (family) => {
    const server = await nameServer((_host, asked) => (asked === family ? undefined : both[asked]));
    const startedAt = performance.now();
    expect(await hostResolver(none, [server])('hooks.example.com')).toEqual([family === 4 ? both[6] : both[4]]);
    expect(performance.now() - startedAt).toBeLessThan(900);
  },
);

it('a family that answers a little later is there too', async () => {
  const server = await nameServer(async (_host, asked) => {
    if (asked === 4) await sleep(100);
    return both[asked];
  });
  expect(await hostResolver(none, [server])('hooks.example.com')).toEqual([both[4], both[6]]);
});

it.each([
  ['none', both[6]],
  ['an alias that leads nowhere', 'alias.example.com'],
])('a family without addresses (%s) leaves the other all its time', async (_what, answer) => {
  const server = await nameServer(async (_host, asked) => {
    if (asked === 4) return answer;
    await sleep(700);
    return both[6];
  });
  expect(await hostResolver(none, [server])('hooks.example.com')).toEqual([both[6]]);
});

it('localhost is never asked of anyone', async () => {
  const asked: string[] = [];
  const server = await nameServer((host) => void asked.push(host));
  expect(await hostResolver(none, [server])('app.localhost')).toEqual(['127.0.0.1', '::1']);
  expect(asked).toEqual([]);
});

it('names that the rules list go through the operating system', async () => {
  const asked: string[] = [];
  const server = await nameServer((host) => void asked.push(host));
  const system = (await dns.lookup('localhost', { all: true })).map(({ address }) => address);
  expect(await hostResolver(egressRules(['localhost'], 'test'), [server])('localhost')).toEqual(system);
  expect(asked).toEqual([]);
});

it('names whose servers do not answer hold up no other name', async () => {
  const server = await nameServer((host) => (host.startsWith('silent') ? undefined : '8.8.8.8'));
  const resolve = hostResolver(none, [server]);
  const hanging = Array.from({ length: 50 }, (_, index) => resolve(`silent-${index}.example.com`));
  const startedAt = performance.now();
  expect(await resolve('hooks.example.com')).toEqual(['8.8.8.8']);
  await dns.lookup('localhost');
  expect(performance.now() - startedAt).toBeLessThan(500);
  const ends = await Promise.allSettled(hanging);
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['rejected']));
}, 20_000);
