import { expect, it, onTestFinished } from 'vitest';
import { createTenantEgress, type TenantEgress } from '../../../src/publisher/egress/tenant-egress.js';
import { egressRules } from '../../../src/runtime/egress-rules.js';
import { loopback, messageTo, pem } from './support/clients.js';
import { answers, rawReceiver } from './support/raw-receiver.js';

function egressOf(tenants: boolean): TenantEgress {
  const resolve = async (): Promise<readonly string[]> => ['127.0.0.1'];
  const egress = createTenantEgress(egressRules(loopback, 'test', tenants), { resolve, ca: pem('ca.pem') });
  onTestFinished(() => egress.close());
  return egress;
}

it('a tenant gets no connection inside, nor one that was made for the operator', async () => {
  const receiver = await rawReceiver(answers(200), { tls: { key: pem('server.key'), cert: pem('server.pem') } });
  const egress = egressOf(false);
  const message = messageTo(`https://hooks.example.com:${receiver.port}/x`);
  expect(await egress.of('').send(message)).toMatchObject({ response: { status: 200 } });
  expect(await egress.of('acme').send(message)).toMatchObject({ code: 'destination_refused', mayHaveArrived: false });
  expect(receiver.requests).toHaveLength(1);
});

it('where the rules are for tenants too, all share one client, and else the tenants one', async () => {
  const receiver = await rawReceiver(answers(200));
  const shared = egressOf(true);
  expect(await shared.of('acme').send(messageTo(receiver.url))).toMatchObject({ response: { status: 200 } });
  expect(shared.of('acme')).toBe(shared.of(''));
  const apart = egressOf(false);
  expect(apart.of('acme')).toBe(apart.of('globex'));
});

it('all connections are closed with it', async () => {
  const receiver = await rawReceiver(answers(200));
  const egress = egressOf(true);
  await egress.of('acme').send(messageTo(receiver.url));
  await egress.close();
  await receiver.idle();
});
