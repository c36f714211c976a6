import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;
beforeAll(async () => {
  stage = await createCliStage(
    undefined,
    `CREATE TABLE shipments (order_id text NOT NULL);
     CREATE TABLE processed_events (event_id text PRIMARY KEY, order_id text, response jsonb, processed_at timestamptz);
     INSERT INTO processed_events
     SELECT 'adopt-cli-' || n, 'o-' || n, '{"shipment":"old"}', now() FROM generate_series(1, 40) AS n`,
  );
});
afterAll(async () => {
  await stage.close();
});

const sql = `SELECT event_id AS event_key, 'shipment:' || order_id AS business_key, response AS result, processed_at AS done_at
  FROM processed_events`;
const command = [
  'adopt',
  '--source',
  'shop',
  '--effect',
  'ship-order',
  '--sql',
  sql,
  '--reason',
  'moving in',
  '--by',
  'ann',
];

test('a claim table is shown, adopted and adopted again; a delivery of what it has runs nothing', async () => {
  const look = await stage.run([...command, '--dry-run']);
  expect(look).toMatchObject({
    code: 0,
    stdout: 'ship-order, nothing changed yet: 40 rows: 40 adopted, 0 already there, 0 conflicts, 0 refused\n',
  });
  expect(await stage.sql('SELECT 1 FROM onefold.effects')).toEqual([]);
  expect(await stage.sql('SELECT 1 FROM onefold.acts')).toEqual([]);

  const unasked = await stage.run(command);
  expect(unasked.code).toBe(1);
  expect(unasked.stderr).toContain('confirmation_missing');
  expect(await stage.sql('SELECT 1 FROM onefold.effects')).toEqual([]);

  const adopted = await stage.run([...command, '--yes', '--act', 'first']);
  expect(adopted).toMatchObject({
    code: 0,
    stdout: 'ship-order: 40 rows: 40 adopted, 0 already there, 0 conflicts, 0 refused (act first)\n',
  });
  const again = await stage.run([...command, '--yes', '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ rows: 40, adopted: 0, alreadyThere: 40, dryRun: false });
  expect(await stage.sql(`SELECT kind, actor, reason FROM onefold.acts WHERE id = 'first'`)).toEqual([
    { kind: 'adopt', actor: 'ann', reason: 'moving in' },
  ]);

  const [receiver, worker] = await Promise.all([stage.receiver(), stage.worker()]);
  await stage.deliver(receiver.url, 'adopt-cli-7', { order: 'o-7' });
  const done = await worker.line('webhook.done');
  expect(done).toMatchObject({ outcome: 'already_done' });
  expect(await stage.notes()).toEqual([]);
  expect(await stage.sql('SELECT 1 FROM shipments')).toEqual([]);
  await Promise.all([receiver.stop(), worker.stop()]);
});

test('rows that cannot be adopted are named and set the exit code', async () => {
  const broken = await stage.run([
    ...['adopt', '--source', 'shop', '--effect', 'ship-order', '--reason', 'moving in', '--yes'],
    ...['--sql', `SELECT 'adopt-cli-x' AS event_key, NULL AS business_key`],
  ]);
  expect(broken.code).toBe(1);
  expect(broken.stdout).toContain('1 refused');
  expect(broken.stdout).toContain('row 1: refused: business_key is null');
});

test('a claim table elsewhere is read from there', async () => {
  const elsewhere = await stage.run([...command, '--yes', '--from', stage.env.DATABASE_URL as string, '--json']);
  expect(JSON.parse(elsewhere.stdout)).toMatchObject({ alreadyThere: 40 });
  const away = await stage.run([...command, '--yes', '--from', 'postgres://nobody:hidden@127.0.0.1:1/none']);
  expect(away.code).toBe(1);
  expect(away.stderr).toContain('ledger_unavailable');
  expect(away.stderr).not.toContain('hidden');
});
