import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shipmentsTable, shop } from '../hazards/support/shop.js';
import { createStage, type Deployed, type Stage } from '../operations/support/stage.js';
import { type ServedApi, serveApi } from './support/admin-stage.js';

const secret = 'what-the-customer-wrote';

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [event.data.order]);
  },
});

let stage: Stage;
let app: Deployed;
let api: ServedApi;

beforeAll(async () => {
  stage = await createStage({ setup: shipmentsTable });
  app = stage.deploy([shipOrder]);
  await app.startWorker();
  api = await serveApi(app.onefold);
});
afterAll(async () => {
  await api?.close();
  await stage?.close();
});

const keyOf = (id: string) => `event//shop/${encodeURIComponent(id)}`;
const trace = (identity: string, more = '') =>
  api.ask('GET', `/v1/trace?identity=${encodeURIComponent(identity)}${more}`);

async function delivered(id: string = randomUUID()): Promise<string> {
  await app.deliver(id, { note: secret });
  await stage.client.workflow.getHandle(keyOf(id)).result();
  return id;
}

test('each of its names tells the story of an event, without its body', async () => {
  const id = await delivered();
  for (const [name, more] of [
    [`shop/${id}`, ''],
    [id, ''],
    [keyOf(id), ''],
    [`shipment:${id}`, ''],
    [`shipment:${id}`, '&effect=ship-order'],
  ] as const) {
    const { status, json } = await trace(name, more);
    expect({ status, outcome: json.outcome }, name).toEqual({ status: 200, outcome: 'traced' });
    expect(json).toMatchObject({
      temporal: { state: 'looked' },
      events: [{ event: `shop/${id}`, ledger: 'done', effects: [{ effect: 'ship-order', done: true }] }],
    });
    expect(json.timeline.length).toBeGreaterThan(2);
    expect(JSON.stringify(json)).not.toContain(secret);
  }
  expect((await trace(id, '&temporal=false')).json).toMatchObject({ temporal: { state: 'skipped' } });
});

test('a part of several names is answered with the choices', async () => {
  const part = randomUUID();
  const [one, two] = [await delivered(`${part}-1`), await delivered(`${part}-2`)];
  const { status, json } = await trace(part);
  expect(status).toBe(200);
  expect(json).toMatchObject({ outcome: 'ambiguous', part: true });
  const names = json.choices.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining([`shop/${one}`, `shop/${two}`]));
});

test('of another tenant nothing is told, whatever name it is given', async () => {
  const id = await delivered();
  for (const name of [`shop/${id}`, id, keyOf(id), `shipment:${id}`, id.slice(0, 20)]) {
    expect(await trace(name, '&tenant=acme'), name).toMatchObject({ status: 404, json: { code: 'identity_unknown' } });
  }
  const effect = '&effect=ship-order&tenant=acme';
  expect(await trace(`shipment:${id}`, effect)).toMatchObject({ status: 404, json: { code: 'identity_unknown' } });
});

test.each<[string, string, number, string]>([
  ['no identity', '/v1/trace', 400, 'request_invalid'],
  ['two identities', '/v1/trace?identity=a&identity=b', 400, 'request_invalid'],
  ['a blank identity', '/v1/trace?identity=%20', 400, 'identity_invalid'],
  ['an identity that nobody knows', '/v1/trace?identity=nobody-knows-this', 404, 'identity_unknown'],
  ['more events than are traced', '/v1/trace?identity=a&limit=51', 400, 'request_invalid'],
  ['a flag that is none', '/v1/trace?identity=a&temporal=perhaps', 400, 'request_invalid'],
])('%s is refused by its code', async (_what, path, status, code) => {
  const answered = await api.ask('GET', path);
  expect({ status: answered.status, code: answered.json.code }).toEqual({ status, code });
  expect(answered.headers.get('content-type')).toContain('application/problem+json');
});
