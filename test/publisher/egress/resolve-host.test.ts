import { createSocket } from 'node:dgram';
import { promises as dns } from 'node:dns';
import { expect, it, onTestFinished } from 'vitest';
import { hostResolver } from '../../../src/publisher/egress/resolve-host.js';
import { egressRules } from '../../../src/runtime/egress-rules.js';

const none = egressRules([], 'test');

/** A name server for one test, which knows no IPv6 address; `undefined` leaves the question without an answer. */
async function nameServer(answer: (host: string) => string | undefined): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    const end = question.indexOf(0, 12);
    const labels: string[] = [];
    for (let at = 12; at < end; at += 1 + question[at]!) {
      labels.push(question.toString('latin1', at + 1, at + 1 + question[at]!));
    }
    const address = answer(labels.join('.'));
    if (address === undefined) return;
    const isV4 = question.readUInt16BE(end + 1) === 1;
    // The question again, with the bits of an answer, no error, and one record that points back at the name.
    const head = Buffer.from(question.subarray(0, end + 5));
    head.writeUInt16BE(0x8180, 2);
    head.writeUInt16BE(isV4 ? 1 : 0, 6);
    head.writeUInt32BE(0, 8);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]);
    socket.send(isV4 ? Buffer.concat([head, record]) : head, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

it('names of others are asked of the name servers', async () => {
  const server = await nameServer((host) => (host === 'hooks.example.com' ? '8.8.8.8' : '8.8.4.4'));
  expect(await hostResolver(none, [server])('hooks.example.com')).toEqual(['8.8.8.8']);
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
