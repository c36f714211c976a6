import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { DeliveryState } from '../../../src/ledger/publication-deliveries/delivery-row.js';
import { operationsContext } from '../../../src/operations/context.js';
import { listDeadLetters } from '../../../src/operations/dead-letters/list-dead-letters.js';
import { type DeliveryFilter, listDeliveries } from '../../../src/operations/deliveries/list-deliveries.js';
import { listPublications } from '../../../src/operations/deliveries/list-publications.js';
import { showDelivery } from '../../../src/operations/deliveries/show-delivery.js';
import type { Page } from '../../../src/operations/page-cursor.js';
import { until } from '../../hazards/support/until.js';
import { createDeliveryStage, type DeliveryStage } from '../../publisher/support/delivery-stage.js';
import { startScriptedReceiver } from '../../publisher/support/scripted-receiver.js';

let stage: DeliveryStage;
beforeAll(async () => {
  stage = await createDeliveryStage({ worker: false });
});
afterAll(() => stage?.close());
afterEach(async () => {
  await stage.sql(`UPDATE onefold.endpoints SET state = 'removed'`);
});

const context = () => stage.onefold[operationsContext];

/** Publications of a tenant of its own, some at the same microsecond, each to two endpoints; nobody sends them. */
async function published(many: number) {
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  const [one, two] = await Promise.all(
    [1, 2].map(() => stage.endpoint('http://127.0.0.1:9/hook', { tenant }).then(({ id }) => id)),
  );
  const publications: string[] = [];
  for (let index = 0; index < many; index++) {
    const { publication } = await stage.publish(`${tenant}:${index}`, tenant);
    publications.push(publication);
    const at = new Date(Date.UTC(2026, 1, 3, 4, 5, Math.floor(index / 3))).toISOString();
    // Between two milliseconds, where a Date cannot tell them apart.
    const moment = `${at.slice(0, -1)}457Z`;
    await stage.sql('UPDATE onefold.publications SET published_at = $1 WHERE tenant = $2 AND publication = $3', [
      moment,
      tenant,
      publication,
    ]);
    await stage.sql('UPDATE onefold.publication_deliveries SET queued_at = $1 WHERE tenant = $2 AND publication = $3', [
      moment,
      tenant,
      publication,
    ]);
  }
  const setState = (publication: string, endpoint: string | undefined, state: DeliveryState) =>
    stage.sql('UPDATE onefold.publication_deliveries SET state = $1 WHERE publication = $2 AND endpoint = $3', [
      state,
      publication,
      endpoint,
    ]);
  return { tenant, one: one ?? '', two: two ?? '', publications, setState };
}

async function everyPage<Item>(list: (cursor?: string) => Promise<Page<Item>>): Promise<Item[][]> {
  const pages: Item[][] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await list(cursor);
    pages.push([...items]);
    if (next === undefined) return pages;
    cursor = next;
  }
}

test.each([1, 2, 3, 5, 7])('pages of %i rows hold every delivery once, those published last first', async (limit) => {
  const { tenant, one } = await published(7);
  const list = (filter: DeliveryFilter) =>
    everyPage((cursor) => listDeliveries(context(), { tenant, limit, ...filter, ...(cursor ? { cursor } : {}) }));
  const whole = await list({});
  expect(whole.slice(0, -1).every((page) => page.length === limit)).toBe(true);
  const all = whole.flat();
  expect(new Set(all.map(({ publication, endpoint }) => `${publication} ${endpoint}`)).size).toBe(14);
  expect(all).toHaveLength(14);
  const times = all.map(({ publishedAt }) => publishedAt.getTime());
  expect(times).toEqual([...times].sort((a, b) => b - a));
  // One endpoint's list is another statement with the same order.
  const ofOne = (await list({ endpoint: one })).flat();
  expect(ofOne).toEqual(all.filter(({ endpoint }) => endpoint === one));

  const publications = await everyPage((cursor) =>
    listPublications(context(), { tenant, limit, ...(cursor ? { cursor } : {}) }),
  );
  expect(publications.flat().map(({ publication }) => publication)).toEqual([
    ...new Set(all.map(({ publication }) => publication)),
  ]);
});

test('filters restrict, and together', async () => {
  const { tenant, one, two, publications, setState } = await published(4);
  const [first, second] = publications as [string, string, string, string];
  await setState(first, one, 'delivered');
  await setState(second, two, 'dead_lettered');
  const names = async (filter: DeliveryFilter) => {
    const { items } = await listDeliveries(context(), { tenant, ...filter });
    return items.map(({ publication, endpoint }) => `${publication} ${endpoint}`).sort();
  };
  expect(await names({ publication: first })).toEqual([`${first} ${one}`, `${first} ${two}`].sort());
  expect(await names({ publication: first, endpoint: two })).toEqual([`${first} ${two}`]);
  expect(await names({ state: 'delivered' })).toEqual([`${first} ${one}`]);
  expect(await names({ state: 'dead_lettered', endpoint: one })).toEqual([]);
  expect(await names({ type: 'order.confirmed' })).toHaveLength(8);
  expect(await names({ type: 'order.note' })).toEqual([]);
  expect(await names({ since: new Date('2026-02-03T04:05:01Z') })).toHaveLength(2);
  expect(await names({ until: new Date('2026-02-03T04:05:01Z') })).toHaveLength(6);
  const [publication] = (await listPublications(context(), { tenant, limit: 200 })).items.filter(
    (one) => one.publication === first,
  );
  expect(publication).toMatchObject({ type: 'order.confirmed', deliveries: { queued: 1, delivered: 1 } });
});

test('a tenant sees nothing of another, whatever it names', async () => {
  const { tenant, one, publications } = await published(1);
  const [publication = ''] = publications;
  const others = await published(1);
  for (const filter of [{}, { endpoint: one }, { publication }, { endpoint: one, publication }]) {
    const { items } = await listDeliveries(context(), { ...filter, tenant: others.tenant });
    expect(items.every((item) => item.tenant === others.tenant && item.publication !== publication)).toBe(true);
  }
  expect((await listPublications(context(), { tenant: others.tenant })).items).toHaveLength(1);
  // A cursor of one tenant gives the other only its own.
  const { next } = await listDeliveries(context(), { tenant, limit: 1 });
  const { items } = await listDeliveries(context(), { tenant: others.tenant, ...(next ? { cursor: next } : {}) });
  expect(items.every((item) => item.tenant === others.tenant)).toBe(true);
});

test.each<[string, Record<string, unknown>]>([
  ['a cursor of another list', { cursor: Buffer.from('["x"]').toString('base64url') }],
  ['a cursor that is none', { cursor: 'nonsense' }],
  ['a cursor with no time in it', { cursor: Buffer.from('["1; DROP","p","e"]').toString('base64url') }],
  ['a limit of 0', { limit: 0 }],
  ['a limit of 201', { limit: 201 }],
  ['a state that is none', { state: 'lost' }],
  ['a time that is none', { since: new Date('yesterday') }],
  ['a blank type', { type: '' }],
  ['an endpoint with NUL', { endpoint: 'ep_\0' }],
])('%s is request_invalid', async (_what, filter) => {
  await expect(listDeliveries(context(), filter as DeliveryFilter)).rejects.toMatchObject({ code: 'request_invalid' });
});

test('an unknown filter is refused', async () => {
  await expect(listDeliveries(context(), { endpiont: 'ep_1' } as DeliveryFilter)).rejects.toMatchObject({
    code: 'config_invalid',
  });
});

test('lists go by their indexes, with a hundred thousand deliveries beside', async () => {
  const { tenant, one } = await published(1);
  await stage.sql(
    `INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body, published_at)
     SELECT $1, 'many:' || n, 'msg_' || n, 'order.note', 'd', '{}', clock_timestamp() - n * interval '1 second'
     FROM generate_series(1, 50000) n`,
    [tenant],
  );
  await stage.sql(
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state, queued_at, ended_at)
     SELECT p.tenant, p.publication, e.id, CASE WHEN random() < 0.01 THEN 'dead_lettered' ELSE 'delivered' END,
            p.published_at, p.published_at
     FROM onefold.publications p JOIN onefold.endpoints e ON e.tenant = p.tenant
     WHERE p.tenant = $1 AND p.publication LIKE 'many:%'`,
    [tenant],
  );
  await stage.sql('ANALYZE onefold.publications');
  await stage.sql('ANALYZE onefold.publication_deliveries');
  const plans: string[] = [];
  const { ledger } = context();
  const explaining = Object.create(context(), {
    ledger: {
      value: {
        ...ledger,
        database: {
          ...ledger.database,
          query: async (text: string, values: readonly unknown[]) => {
            const plan = await ledger.database.query<Record<string, string>>(`EXPLAIN ${text}`, values);
            plans.push(plan.rows.map((row) => row['QUERY PLAN']).join('\n'));
            return ledger.database.query(text, values);
          },
        },
      },
    },
  });
  const { next = '' } = await listDeliveries(explaining, { tenant, limit: 50 });
  await listDeliveries(explaining, { tenant, limit: 50, cursor: next });
  const { next: nextOfOne = '' } = await listDeliveries(explaining, { tenant, endpoint: one });
  await listDeliveries(explaining, { tenant, endpoint: one, cursor: nextOfOne });
  await listPublications(explaining, { tenant });
  await stage.sql(
    `INSERT INTO onefold.dead_letters (tenant, event_key, kind, source, event_id, type, code, message, input, effects, runs)
     SELECT $1, 'publication/x/' || n, 'delivery', $2, 'many:' || n, 'order.note', 'c', 'm', '{}', '[]', '{}'
     FROM generate_series(1, 20000) n`,
    [tenant, one],
  );
  await stage.sql('ANALYZE onefold.dead_letters');
  await showDelivery(explaining, { tenant, publication: 'many:1', endpoint: one });
  expect(plans.filter((plan) => plan.includes('dead_letters'))).toEqual([
    expect.stringContaining('dead_letters_by_event'),
  ]);
  for (const plan of plans) expect(plan).not.toContain('Seq Scan');
});

test('what is queued shows its plan by the budget; what was never published is unknown', async () => {
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  const { id: endpoint } = await stage.endpoint('http://127.0.0.1:9/hook', {
    tenant,
    schedule: ['1 minute', '1 hour', '30 days'],
    maximumElapsed: '2 days',
  });
  const { publication } = await stage.publish(undefined, tenant);
  const { plan, ...shown } = await showDelivery(context(), { tenant, publication, endpoint });
  expect(shown).toMatchObject({ state: 'queued', attempts: 0, attemptsMade: [], acts: [], endpointState: 'enabled' });
  expect(plan?.from).toBe('policy');
  const moments = plan?.attempts.map((at) => Date.parse(at)) ?? [];
  // The third pause would lie beyond the elapsed budget.
  expect(moments.map((at) => at - (moments[0] ?? 0))).toEqual([0, 60_000, 3_660_000]);
  expect(Date.parse(plan?.givesUpAt ?? '') - shown.publishedAt.getTime()).toBe(2 * 24 * 3_600_000);
  await expect(showDelivery(context(), { tenant, publication: 'nobody:knows', endpoint })).rejects.toMatchObject({
    code: 'publication_unknown',
  });
});

test('where no worker answers, the rest of the plan is computed from the attempts made', async () => {
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  const { id: endpoint } = await stage.endpoint('http://127.0.0.1:9/hook', { tenant, schedule: ['1 hour', '2 hours'] });
  const { publication } = await stage.publish(undefined, tenant);
  await stage.sql(`UPDATE onefold.publication_deliveries SET state = 'started', attempts = 1 WHERE publication = $1`, [
    publication,
  ]);
  await stage.sql(
    `INSERT INTO onefold.publication_attempts
       (id, tenant, publication, endpoint, run_id, attempt, endpoint_version, lease_until, ended, ended_at, code, status)
     VALUES (gen_random_uuid(), $1, $2, $3, 'run', 1, 1, now(), 'retry', clock_timestamp(), 'http_503', 503)`,
    [tenant, publication, endpoint],
  );
  const { plan, attemptsMade } = await showDelivery(context(), { tenant, publication, endpoint });
  const failedAt = attemptsMade[0]?.endedAt?.getTime() ?? 0;
  expect(plan?.from).toBe('policy');
  expect(plan?.attempts.map((at) => Date.parse(at) - failedAt)).toEqual([3_600_000, 3 * 3_600_000]);
});

test('a delivery that pauses shows its attempts and what its workflow plans; a dead letter is listed until it is closed', async () => {
  const receiver = await startScriptedReceiver();
  const worker = await stage.worker();
  const tenant = `t-${randomUUID().slice(0, 8)}`;
  const { id: endpoint } = await stage.endpoint(receiver.url, { tenant, schedule: ['1 hour', '2 hours'] });
  receiver.answer(() => 503);
  const { publication, eventId } = await stage.publish(undefined, tenant);
  await until('it pauses', async () => (await stage.row(endpoint, publication, tenant)).last_code === 'http_503');
  const shown = await until('its plan', async () => {
    const now = await showDelivery(context(), { tenant, publication, endpoint });
    return now.plan?.phase === 'pausing' ? now : undefined;
  });
  expect(shown).toMatchObject({
    state: 'started',
    eventId,
    attempts: 1,
    attemptsMade: [{ attempt: 1, ended: 'retry', status: 503, code: 'http_503' }],
    plan: { from: 'workflow', attempts: [expect.any(String), expect.any(String)] },
  });

  receiver.answer(() => 404);
  await stage.handle(endpoint, publication, tenant).signal('retryNow');
  expect(await stage.end(endpoint, publication, tenant)).toEqual({ failed: 'http_404' });
  const letters = () => listDeadLetters(context(), { tenant });
  expect((await letters()).items).toMatchObject([
    {
      kind: 'delivery',
      endpoint,
      name: publication,
      code: 'http_404',
      occurrences: 1,
      reasons: [{ code: 'http_503' }, { code: 'http_404' }],
    },
  ]);
  expect((await listDeadLetters(context(), { tenant, code: 'http_500' })).items).toEqual([]);
  expect((await listDeadLetters(context(), { tenant: 'other', endpoint })).items).toEqual([]);
  const ended = await showDelivery(context(), { tenant, publication, endpoint });
  expect(ended).toMatchObject({ state: 'dead_lettered', attempts: 2, deadLetter: { code: 'http_404' } });
  expect(ended.plan).toBeUndefined();

  receiver.answer(() => 200);
  await stage.onefold.tenant(tenant).resend({ publication, endpoint }, { by: 'bob', reason: 'mended' });
  await stage.end(endpoint, publication, tenant);
  expect((await letters()).items).toEqual([]);
  expect((await listDeadLetters(context(), { tenant, all: true })).items).toMatchObject([
    { code: 'http_404', closedAt: expect.any(Date) },
  ]);
  expect((await showDelivery(context(), { tenant, publication, endpoint })).acts).toMatchObject([
    { kind: 'replay', by: 'bob', outcome: 'started' },
  ]);
  await worker.stop();
  await receiver.close();
});
