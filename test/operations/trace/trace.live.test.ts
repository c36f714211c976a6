import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { publicationKey } from '../../../src/identity/publication-identity.js';
import { pgDatabase } from '../../../src/ledger/pg-database.js';
import { createOnefold } from '../../../src/onefold.js';
import type { Traced } from '../../../src/operations/trace/trace.js';
import { publications } from '../../../src/publisher/publications.js';
import { sha256 } from '../../../src/runtime/sha256.js';
import { types } from '../../../src/sources/types.js';
import { shop } from '../../hazards/support/shop.js';
import { until } from '../../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from '../support/stage.js';

const outgoing = publications({ events: { 'order.shipped': types<{ order: string }>() } });

const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: ({ data }) => `shipment:${data.order}`,
  commit: async ({ event, tx }) => {
    const { order } = event.data;
    await outgoing.publishIn(tx, { publication: `order:${order}:shipped:v1`, type: 'order.shipped', data: { order } });
    return { secretOfTheResult: true };
  },
});

let stage: Stage;
let app: Deployed;
let order: string;

beforeAll(async () => {
  stage = await createStage();
  app = stage.deploy([shipOrder]);
  await app.startWorker();
  await stage.sql(`INSERT INTO onefold.endpoints (tenant, id, url, types, concurrency)
                   VALUES ('', 'ep_1', 'https://receiver.example', '{*}', 1)`);
});
afterAll(() => stage?.close());
beforeEach(() => {
  order = randomUUID();
});

const key = (): string => `event//shop/${order}`;
const traced = async (name: string, options = {}): Promise<Traced> => {
  const trace = await app.onefold.trace(name, options);
  if (trace.outcome !== 'traced') throw new Error(`${name}: ${JSON.stringify(trace.choices)}`);
  return trace;
};
const codes = ({ suspects }: Traced): string[] => suspects.map(({ code }) => code);
const done = async (): Promise<void> => {
  await app.deliver(order);
  await stage.client.workflow.getHandle(key()).result();
  await until('the evidence', async () => {
    return (await stage.sql('SELECT 1 FROM onefold.deliveries WHERE event_key = $1', [key()])).length === 1;
  });
};

test('every name of an event leads to the same story, down to the deliveries of what it published', async () => {
  await done();
  const publication = `order:${order}:shipped:v1`;
  const [row] = await stage.sql('SELECT event_id, caused_by FROM onefold.publications WHERE publication = $1', [
    publication,
  ]);
  expect(row?.caused_by).toBe(key());
  await stage.sql(
    `INSERT INTO onefold.publication_attempts (id, tenant, publication, endpoint, run_id, attempt, endpoint_version, lease_until, ended, status)
     VALUES (gen_random_uuid(), '', $1, 'ep_1', 'run', 1, 1, now(), 'retry', 503)`,
    [publication],
  );
  for (const name of [`shop/${order}`, order, key(), `shipment:${order}`, `ship-order shipment:${order}`]) {
    const trace = await traced(name);
    expect(trace.events).toMatchObject([
      {
        ledger: 'done',
        temporal: 'completed',
        effects: [{ done: true, attempts: 1, doneBy: { delivery: 1, attempt: 1 } }],
      },
    ]);
    expect(trace.publications).toMatchObject([{ publication, deliveries: [{ endpoint: 'ep_1', state: 'queued' }] }]);
    expect(codes(trace)).toContain('once');
    const what = trace.timeline.map((entry) => entry.what);
    expect(what).toEqual(
      expect.arrayContaining(['delivery', 'run_started', 'plan', 'attempt', 'completed', 'published', 'send']),
    );
    expect(JSON.stringify(trace)).not.toContain('secretOfTheResult');
  }
  for (const name of [
    publication,
    String(row?.event_id),
    publicationKey({ tenant: '', endpoint: 'ep_1', publication }, sha256),
  ]) {
    expect(await traced(name)).toMatchObject({ kind: 'publication', events: [{ eventKey: key() }] });
  }
});

test('what Temporal has forgotten is told from the ledger', async () => {
  await done();
  await stage.client.connection.workflowService.deleteWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: key() },
  });
  await until('the deletion', async () => (await traced(order)).events[0]?.temporal === 'forgotten');
  const trace = await traced(order);
  expect(trace.events).toMatchObject([
    { ledger: 'done', temporal: 'forgotten', runs: [], effects: [{ done: true, doneBy: { delivery: 1 } }] },
  ]);
  expect(codes(trace)).toContain('forgotten');
  expect(trace.next).toEqual([]);
});

test('without Temporal it says so within its time, and tells what the ledger knows', async () => {
  await done();
  const database = pgDatabase({ connectionString: stage.databaseUrl, max: 4 });
  const alone = createOnefold({
    sources: [shop],
    effects: [shipOrder],
    database,
    temporal: { address: '127.0.0.1:1', environment: {} },
  });
  const began = performance.now();
  const trace = (await alone.trace(order)) as Traced;
  expect(performance.now() - began).toBeLessThan(3_500);
  expect(trace.temporal).toMatchObject({ state: 'unreachable' });
  expect(trace.events).toMatchObject([{ ledger: 'done', temporal: 'not_asked', effects: [{ done: true }] }]);
  await alone.close();
  await database.close();
});

test('an event that is accepted and not planned is told from Temporal alone', async () => {
  await app.stopWorker();
  await app.deliver(order);
  const trace = await traced(order);
  expect(trace.events).toMatchObject([{ ledger: 'unknown', temporal: 'running', effects: [] }]);
  expect(codes(trace)).toContain('no_worker');
  expect(trace.next.map(({ act }) => act)).toEqual(['wait', 'abandon']);
  await app.startWorker();
});

test('a tenant is told nothing of another one, and without a tenant both are offered', async () => {
  for (const tenant of ['acme', 'bolt']) {
    await stage.sql(
      `INSERT INTO onefold.events (tenant, event_key, source, event_id, type, digest, input, state, remaining, received_at)
       VALUES ($1, $2, 'shop', $3, 'order.paid', 'd', '{}', 'done', 0, now())`,
      [tenant, `event/${tenant}/shop/${order}`, order],
    );
    await stage.sql(
      `INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body, caused_by, cause)
       VALUES ($1, $2, $3, 'order.shipped', 'd', '{}', $4, '{"event":"shop/of-acme"}')`,
      [tenant, `of-${tenant}-${order}`, randomUUID(), `event/acme/shop/${order}`],
    );
  }
  const both = await app.onefold.trace(order);
  expect(both).toMatchObject({ outcome: 'ambiguous', part: false, choices: [{}, {}] });
  const acme = await traced(order, { tenant: 'acme', temporal: false });
  expect(acme.events.map(({ tenant }) => tenant)).toEqual(['acme']);
  expect(JSON.stringify(acme)).not.toContain('bolt');
  const other = app.onefold.trace(`event/bolt/shop/${order}`, { tenant: 'acme' });
  await expect(other).rejects.toMatchObject({ code: 'identity_unknown' });
  // Published for bolt by an effect of acme's event.
  const published = `of-bolt-${order}`;
  const bolt = await traced(published, { tenant: 'bolt', temporal: false });
  expect(bolt.publications).toHaveLength(1);
  expect(JSON.stringify(bolt)).not.toContain('acme');
  expect(JSON.stringify(await traced(published, { temporal: false }))).toContain('shop/of-acme');
});

test('a part of a name is answered with choices, wildcards are plain characters, and nothing is an error', async () => {
  await done();
  const part = await app.onefold.trace(order.slice(4, 30));
  expect(part).toMatchObject({ outcome: 'ambiguous', part: true, choices: expect.arrayContaining([]) });
  await expect(app.onefold.trace(`%${order}`)).rejects.toMatchObject({ code: 'identity_unknown' });
  await expect(app.onefold.trace('')).rejects.toMatchObject({ code: 'identity_invalid' });
  await expect(app.onefold.trace('a', { limit: 51 })).rejects.toMatchObject({ code: 'request_invalid' });
});
