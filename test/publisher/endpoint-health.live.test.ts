import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EndedSend, EndSend } from '../../src/ledger/sends/end-send.js';
import { announceHealth, judgeHealth } from '../../src/publisher/endpoint-health.js';
import { createSendStage, type SendStage } from '../ledger/sends/support/send-stage.js';

let stage: SendStage;
const lines: { level: string; msg: string; [field: string]: unknown }[] = [];
const log = pino(
  { level: 'debug', base: {}, formatters: { level: (label) => ({ level: label }) } },
  { write: (line: string) => void lines.push(JSON.parse(line)) },
);
const disabled: string[] = [];
const metrics = { endpointsDisabled: { inc: ({ code }: { code: string }) => void disabled.push(code) } };

beforeAll(async () => {
  stage = await createSendStage();
});
beforeEach(() => {
  lines.length = 0;
  disabled.length = 0;
});
afterAll(() => stage?.close());

const quiet = { delivered: false, disabled: false, notices: 0, recovered: false };

/** One attempt, with its end and what is made of it. */
async function attempt(
  endpoint: string,
  how: Partial<EndSend> & Pick<EndSend, 'ended'>,
  tenant = '',
): Promise<EndedSend> {
  const ref = await stage.delivery(endpoint, { tenant });
  const begun = await stage.begun(ref);
  const ended = await stage.end(ref, begun, how);
  await judgeHealth({ ledger: stage.ledger, log, metrics }, ended, { ...ref, version: begun.version });
  return ended;
}

const failure = { ended: 'retry' } as const;
const success = { ended: 'delivered' } as const;

async function row(endpoint: string): Promise<Record<string, any>> {
  const [found] = await stage.sql('SELECT * FROM onefold.endpoints WHERE id = $1', [endpoint]);
  return found as Record<string, any>;
}

/** As if everything known of its health had happened so much earlier. */
async function earlier(endpoint: string, by: string): Promise<void> {
  await stage.sql(
    `UPDATE onefold.endpoints SET failing_since = failing_since - $2::interval, noticed_at = noticed_at - $2::interval,
       state_at = state_at - $2::interval - interval '1 day' WHERE id = $1`,
    [endpoint, by],
  );
}

/** What was published about an endpoint, and who gets it. */
async function told(
  endpoint: string,
): Promise<{ tenant: string; publication: string; type: string; body: any; to: string[] }[]> {
  const rows = await stage.sql(
    `SELECT p.tenant, p.publication, p.type, p.body,
            ARRAY(SELECT d.endpoint FROM onefold.publication_deliveries d
                  WHERE d.tenant = p.tenant AND d.publication = p.publication ORDER BY 1) AS "to"
     FROM onefold.publications p WHERE p.publication LIKE 'endpoint:' || $1 || ':%' ORDER BY p.published_at, p.tenant`,
    [endpoint],
  );
  return rows.map((one) => ({ ...one, body: JSON.parse(one.body) })) as never;
}

test('a healthy endpoint is not written', async () => {
  const endpoint = await stage.endpoint();
  const [before] = await stage.sql('SELECT xmin::text, ctid::text FROM onefold.endpoints WHERE id = $1', [endpoint]);
  for (let nth = 0; nth < 3; nth++) expect(await attempt(endpoint, success)).toEqual({ ...quiet, delivered: true });
  const [after] = await stage.sql('SELECT xmin::text, ctid::text FROM onefold.endpoints WHERE id = $1', [endpoint]);
  expect(after).toEqual(before);
});

test('it fails from its first failure to its next success, and is written once for each', async () => {
  const endpoint = await stage.endpoint();
  const first = await attempt(endpoint, failure);
  expect(first.failingSince).toBeInstanceOf(Date);
  const [before] = await stage.sql('SELECT xmin::text FROM onefold.endpoints WHERE id = $1', [endpoint]);
  expect(await attempt(endpoint, failure)).toMatchObject({ failingSince: first.failingSince, recovered: false });
  expect((await stage.sql('SELECT xmin::text FROM onefold.endpoints WHERE id = $1', [endpoint]))[0]).toEqual(before);
  expect(await attempt(endpoint, success)).toEqual({ ...quiet, delivered: true, recovered: true });
  expect((await row(endpoint)).failing_since).toBeNull();
  expect(await told(endpoint)).toEqual([]);
  expect(lines).toEqual([]);
});

test.each([
  [{ ended: 'rejected', status: 400, code: 'http_400' }, true],
  [{ ended: 'retry', status: null, code: 'dns_failed' }, true],
  [{ ended: 'rejected', status: null, code: 'destination_refused' }, true],
  [{ ended: 'retry', status: null, code: 'secret_unreadable' }, false],
  [{ ended: 'retry', status: null, code: 'attempt_timed_out' }, false],
  [{ ended: 'outcome_unknown', status: null, code: 'worker_stopping' }, false],
] as const)('%j is held against the endpoint: %s', async (how, against) => {
  const endpoint = await stage.endpoint();
  await attempt(endpoint, how);
  expect((await row(endpoint)).failing_since !== null).toBe(against);
});

test('what an attempt at an earlier version learnt says nothing of the present one', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  const old = await stage.begun(ref);
  await stage.sql('UPDATE onefold.endpoints SET version = 2 WHERE id = $1', [endpoint]);
  await stage.end(ref, old, failure);
  expect((await row(endpoint)).failing_since).toBeNull();
});

test.each([
  ['days of failing', failure, '6 days'],
  ['a 410', { ended: 'gone', status: 410, code: 'endpoint_gone' }, '0 days'],
] as const)(
  '%s, judged when the owner has changed the endpoint meanwhile, neither disables nor tells',
  async (...args) => {
    const [, how, ago] = args;
    const endpoint = await stage.endpoint();
    await attempt(endpoint, failure);
    await stage.sql('UPDATE onefold.endpoints SET notices = 2 WHERE id = $1', [endpoint]);
    await earlier(endpoint, ago);
    const ref = await stage.delivery(endpoint);
    const begun = await stage.begun(ref);
    const ended = await stage.end(ref, begun, how);
    await stage.sql('UPDATE onefold.endpoints SET version = version + 1 WHERE id = $1', [endpoint]);
    const before = await row(endpoint);
    await judgeHealth({ ledger: stage.ledger, log, metrics }, ended, { ...ref, version: begun.version });
    expect(await row(endpoint)).toEqual(before);
    expect(await told(endpoint)).toEqual([]);
    expect(lines).toEqual([]);
  },
);

test('notices go out after one and three days, and after five it is disabled, each told once', async () => {
  // While it fails it gets a fifth of its slots.
  const endpoint = await stage.endpoint({ types: ['*', 'endpoint.*'], concurrency: 20 });
  const watcher = await stage.endpoint({ types: ['endpoint.*'] });
  const everything = await stage.endpoint({ types: ['*'] });
  await attempt(endpoint, failure);
  await earlier(endpoint, '23 hours 59 minutes');
  await attempt(endpoint, failure);
  expect(await told(endpoint)).toEqual([]);
  await earlier(endpoint, '1 minute');
  // Several attempts notice it at once.
  await Promise.all([1, 2, 3, 4].map(() => attempt(endpoint, failure)));
  const [first] = await told(endpoint);
  const since = (await row(endpoint)).failing_since as Date;
  expect(first).toMatchObject({
    tenant: '',
    publication: `endpoint:${endpoint}:failing:${since.getTime()}:1`,
    type: 'endpoint.failing',
    body: {
      type: 'endpoint.failing',
      data: { endpoint, failingSince: since.toISOString(), notice: 1 },
    },
    // Neither the endpoint itself, nor who asked for everything that happens in the business.
    to: [watcher],
  });
  expect(JSON.stringify(first?.body)).not.toContain('receiver.example');
  expect(await told(endpoint)).toHaveLength(1);

  await earlier(endpoint, '2 days');
  await attempt(endpoint, failure);
  await attempt(endpoint, failure);
  expect((await told(endpoint)).map(({ body }) => body.data.notice)).toEqual([1, 2]);
  await earlier(endpoint, '2 days');
  await attempt(endpoint, failure);
  expect(await row(endpoint)).toMatchObject({ state: 'disabled', state_code: 'endpoint_failing', version: '1' });
  const all = await told(endpoint);
  expect(all.map(({ type }) => type)).toEqual(['endpoint.failing', 'endpoint.failing', 'endpoint.disabled']);
  expect(all[2]?.body.data).toMatchObject({ endpoint, code: 'endpoint_failing' });
  expect(disabled).toEqual(['endpoint_failing']);
  expect(lines.map(({ msg }) => msg)).toEqual(['endpoint.failing', 'endpoint.failing', 'endpoint.disabled']);
  expect(await stage.begin(await stage.delivery(endpoint))).toMatchObject({ kind: 'held', state: 'disabled' });
  expect((await told(endpoint)).flatMap(({ to }) => to)).not.toContain(everything);
});

test('an endpoint of a tenant is told of in the tenant, and to the operators', async () => {
  const endpoint = await stage.endpoint({ tenant: 'acme' });
  const theirs = await stage.endpoint({ tenant: 'acme', types: ['endpoint.disabled'] });
  const ours = await stage.endpoint({ types: ['endpoint.*'] });
  const others = await stage.endpoint({ tenant: 'globex', types: ['endpoint.*'] });
  await attempt(endpoint, { ended: 'gone', status: 410, code: 'endpoint_gone' }, 'acme');
  const all = await told(endpoint);
  expect(all.map(({ tenant }) => tenant)).toEqual(['', 'acme']);
  expect(all[0]?.to).toContain(ours);
  expect(all[1]?.to).toEqual([theirs]);
  expect(all.flatMap(({ to }) => to)).not.toContain(others);
  for (const { body } of all) expect(body.data).toMatchObject({ endpoint, tenant: 'acme', code: 'endpoint_gone' });
});

describe('a recovery', () => {
  test('after a notice is told once, and the next trouble begins afresh', async () => {
    const endpoint = await stage.endpoint();
    await attempt(endpoint, failure);
    await earlier(endpoint, '1 day');
    await attempt(endpoint, failure);
    await Promise.all([attempt(endpoint, success), attempt(endpoint, success)]);
    await attempt(endpoint, success);
    expect((await told(endpoint)).map(({ type }) => type)).toEqual(['endpoint.failing', 'endpoint.recovered']);
    expect(await row(endpoint)).toMatchObject({ notices: 0, failing_since: null });
    await attempt(endpoint, failure);
    await earlier(endpoint, '1 day');
    await attempt(endpoint, failure);
    await attempt(endpoint, success);
    expect((await told(endpoint)).map(({ type }) => type)).toEqual([
      'endpoint.failing',
      'endpoint.recovered',
      'endpoint.failing',
      'endpoint.recovered',
    ]);
  });

  test('that nobody told of before it failed again is out of date', async () => {
    const endpoint = await stage.endpoint();
    await attempt(endpoint, failure);
    await earlier(endpoint, '1 day');
    await attempt(endpoint, failure);
    // The process died between the attempt's end and its judgement.
    const ref = await stage.delivery(endpoint);
    await stage.end(ref, await stage.begun(ref), success);
    await attempt(endpoint, failure);
    expect(await row(endpoint)).toMatchObject({ notices: 0 });
    await announceHealth({ ledger: stage.ledger, log });
    expect((await told(endpoint)).map(({ type }) => type)).toEqual(['endpoint.failing']);
  });
});

test('what a process that died has left untold is told by a relay, once', async () => {
  const gone = await stage.endpoint();
  const recovered = await stage.endpoint();
  await attempt(recovered, failure);
  await earlier(recovered, '1 day');
  await attempt(recovered, failure);
  for (const [endpoint, how] of [
    [gone, { ended: 'gone', status: 410, code: 'endpoint_gone' }],
    [recovered, success],
  ] as const) {
    const ref = await stage.delivery(endpoint);
    await stage.end(ref, await stage.begun(ref), how);
  }
  const relay = () => announceHealth({ ledger: stage.ledger, log });
  await Promise.all([relay(), relay(), relay()]);
  await relay();
  expect((await told(gone)).map(({ type }) => type)).toEqual(['endpoint.disabled']);
  expect((await told(recovered)).map(({ type }) => type)).toEqual(['endpoint.failing', 'endpoint.recovered']);
});

test('a pause by its owner is not counted as failing', async () => {
  const endpoint = await stage.endpoint();
  await attempt(endpoint, failure);
  await earlier(endpoint, '6 days');
  await stage.sql(`UPDATE onefold.endpoints SET state_at = clock_timestamp() WHERE id = $1`, [endpoint]);
  await attempt(endpoint, failure);
  expect(await told(endpoint)).toEqual([]);
});

test('that health cannot be judged fails no attempt', async () => {
  const endpoint = await stage.endpoint();
  const ref = await stage.delivery(endpoint);
  const broken = {
    ...stage.ledger,
    database: { ...stage.ledger.database, transaction: () => Promise.reject(new Error('PostgreSQL is away')) },
  };
  await judgeHealth({ ledger: broken, log }, { ...quiet, disabled: true }, { ...ref, version: 1 });
  expect(lines).toMatchObject([{ msg: 'endpoint.health_unjudged', endpoint, reason: 'PostgreSQL is away' }]);
});
