import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publicationKey } from '../../../src/identity/publication-identity.js';
import type { Sql } from '../../../src/ledger/database.js';
import { listUnderWay } from '../../../src/ledger/endpoint-changes/list-under-way.js';
import { noteTold } from '../../../src/ledger/endpoint-changes/note-told.js';
import { noteToldPlace } from '../../../src/ledger/endpoint-changes/note-told-place.js';
import { takeUntold } from '../../../src/ledger/endpoint-changes/take-untold.js';
import { listUnannounced } from '../../../src/ledger/endpoints-health/list-unannounced.js';
import { listLongStarted } from '../../../src/ledger/publication-deliveries/list-long-started.js';
import { listSettledDeliveries } from '../../../src/ledger/publication-deliveries/list-settled-deliveries.js';
import { measureQueued } from '../../../src/ledger/publication-deliveries/measure-queued.js';
import { requeueUnsent } from '../../../src/ledger/publication-deliveries/requeue-unsent.js';
import { beginSend } from '../../../src/ledger/sends/begin-send.js';
import { cancelSend } from '../../../src/ledger/sends/cancel-send.js';
import { endDelivery } from '../../../src/ledger/sends/end-delivery.js';
import { endSend } from '../../../src/ledger/sends/end-send.js';
import { handOverSlots } from '../../../src/ledger/sends/hand-over-slots.js';
import { lookAtEndpoint } from '../../../src/ledger/sends/look-at-endpoint.js';
import { sha256 } from '../../../src/runtime/sha256.js';
import { createSendStage, type SendStage } from './support/send-stage.js';

let stage: SendStage;
const asked: { readonly text: string; readonly values: readonly unknown[] }[] = [];
const spy: Sql = (text, values = []) => {
  asked.push({ text, values });
  return stage.ledger.database.query(text, values);
};

const ref = { tenant: '', endpoint: 'ep_7', publication: 'order:7:v1' };

beforeAll(async () => {
  stage = await createSendStage();
  // 2,000 endpoints, 50,000 deliveries, 200,000 attempts.
  // On a connection of its own, which has no time limit.
  const client = new pg.Client({ connectionString: stage.url });
  await client.connect();
  for (const statement of [
    `INSERT INTO onefold.endpoints (tenant, id, url, types, concurrency, rate_limit)
     SELECT '', 'ep_' || n, 'https://receiver.example/', '{*}', 5, 100 FROM generate_series(0, 1999) n`,
    `INSERT INTO onefold.endpoint_slots (tenant, endpoint, slot)
     SELECT '', 'ep_' || n, s FROM generate_series(0, 1999) n, generate_series(1, 5) s`,
    `INSERT INTO onefold.endpoint_pace (tenant, endpoint) SELECT '', 'ep_' || n FROM generate_series(0, 1999) n`,
    `INSERT INTO onefold.publications (tenant, publication, event_id, type, digest, body)
     SELECT '', 'order:' || n || ':v1', 'msg_' || n, 'order.confirmed', 'd', '{}' FROM generate_series(0, 49999) n`,
    `INSERT INTO onefold.publication_deliveries (tenant, publication, endpoint, state)
     SELECT '', 'order:' || n || ':v1', 'ep_' || n % 2000, CASE WHEN n % 3 = 0 THEN 'delivered' ELSE 'started' END
     FROM generate_series(0, 49999) n`,
    `INSERT INTO onefold.publication_attempts
       (id, tenant, publication, endpoint, run_id, attempt, endpoint_version, lease_until, ended)
     SELECT gen_random_uuid(), '', 'order:' || n % 50000 || ':v1', 'ep_' || n % 2000, 'run', 1, 1, clock_timestamp(), 'retry'
     FROM generate_series(0, 199999) n`,
    `INSERT INTO onefold.dead_letters (tenant, event_key, source, event_id, type, code, message, input, effects, runs, kind)
     SELECT '', 'publication//x/' || n, 'x', n, 't', 'c', 'm', '{}', '[]', '{r}', 'delivery' FROM generate_series(0, 19999) n`,
    'ANALYZE',
  ]) {
    await client.query(statement);
  }
  await client.end();
}, 120_000);
afterAll(() => stage?.close());

/** Tables that every statement must find its rows in by an index. */
const large =
  /^(publications|publication_deliveries|publication_attempts|dead_letters|endpoints|endpoint_slots|endpoint_pace)$/;

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly Node[];
}

function scans(node: Node): string[] {
  const own =
    node['Node Type'] === 'Seq Scan' && large.test(node['Relation Name'] ?? '') ? [String(node['Relation Name'])] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scans)];
}

async function scansOf(text: string, values?: readonly unknown[]): Promise<string[]> {
  const options = values ? 'FORMAT JSON' : 'FORMAT JSON, GENERIC_PLAN';
  const [row] = await stage.sql(`EXPLAIN (${options}) ${text}`, values);
  return scans(row?.['QUERY PLAN'][0].Plan);
}

test.each<[string, () => Promise<unknown>]>([
  ['begin', () => beginSend(spy, stage.ledger.schema, { ...ref, ...attempt, replay: 'act' })],
  [
    'end of a success',
    () =>
      endSend(spy, stage.ledger.schema, {
        ...ref,
        attemptId: attempt.attemptId,
        version: 1,
        ended: 'delivered',
        code: null,
        status: 200,
        durationMs: 1,
      }),
  ],
  ['attempt that is taken back', () => cancelSend(spy, stage.ledger.schema, { ...ref, attemptId: attempt.attemptId })],
  ['handing over of slots', () => handOverSlots(spy, stage.ledger.schema, ref, 'order:8:v1')],
  [
    'end of a delivery',
    () =>
      endDelivery(spy, stage.ledger.schema, {
        ...ref,
        deliveryKey: publicationKey(ref, sha256),
        eventId: 'msg_7',
        type: 't',
        runId: 'run',
        input: '{}',
        outcome: 'dead_lettered',
        code: 'budget_spent',
        message: '',
        reasons: '[]',
      }),
  ],
  ['look at the endpoint', () => lookAtEndpoint(spy, stage.ledger.schema, ref)],
  ['taking an untold endpoint', () => takeUntold(spy, stage.ledger.schema, 1)],
  ['noting how far was told', () => noteToldPlace(spy, stage.ledger.schema, { ...ref, version: 1, after: 'x' }, 1)],
  ['noting what was told', () => noteTold(spy, stage.ledger.schema, { ...ref, version: 1 })],
  [
    'list of deliveries that were started long ago',
    () => listLongStarted(spy, stage.ledger.schema, { after: ref, olderThanMs: 3_600_000, limit: 200 }),
  ],
  [
    'list of settled deliveries',
    () => listSettledDeliveries(spy, stage.ledger.schema, [{ ...ref, deliveryKey: 'key', runId: 'run' }]),
  ],
  ['measuring what is queued', () => measureQueued(spy, stage.ledger.schema, ref, 200)],
  ['requeueing of what was not sent', () => requeueUnsent(spy, stage.ledger.schema, ref)],
  ['list of deliveries under way', () => listUnderWay(spy, stage.ledger.schema, ref, { after: '', limit: 200 })],
  ['list of unannounced endpoints', () => listUnannounced(spy, stage.ledger.schema, 50)],
])('%s: one statement, which finds its rows by indexes, planned for its values or once for all', async (_name, run) => {
  asked.length = 0;
  await run();
  expect(asked).toHaveLength(1);
  const [{ text, values }] = asked as [(typeof asked)[0]];
  expect(await scansOf(text, values)).toEqual([]);
  const [version] = await stage.sql<{ number: number }>(`SELECT current_setting('server_version_num')::int AS number`);
  // Only from version 16 on does PostgreSQL explain a plan without values.
  if ((version?.number ?? 0) >= 160_000) expect(await scansOf(text)).toEqual([]);
});

const attempt = {
  attemptId: randomUUID(),
  runId: 'run',
  attempt: 1,
  leaseMarginMs: 1_000,
  defaultTimeoutMs: 15_000,
};
