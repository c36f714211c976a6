import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';

let stage: CliStage;

beforeAll(async () => {
  stage = await createCliStage(fileURLToPath(new URL('./fixtures/doors.ts', import.meta.url)));
  await stage.worker();
});
afterAll(() => stage?.close());

const why = ['--reason', 'given up on', '--by', 'bob'];

async function fileOf(text: string): Promise<string> {
  const file = join(stage.folder, `${randomUUID()}.json`);
  await writeFile(file, text);
  return file;
}
const paid = (order: string) => JSON.stringify({ type: 'order.paid', data: { order } });
const ended = (key: string) => stage.client.workflow.getHandle(key).result();
const shipments = async (id: string) => (await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [id])).length;
// Handing in needs no secret.
const unsigned = { env: { SHOP_WEBHOOK_SECRETS: undefined } };

test.concurrent('--dry-run shows what is known and changes nothing; --yes hands it in, and again it is the duplicate', async () => {
  const id = randomUUID();
  const ingest = async (...args: string[]) =>
    stage.run(['ingest', await fileOf(paid(id)), '--source', 'shop', '--id', id, ...why, ...args], unsigned);
  expect(await ingest('--dry-run')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: `shop/${id}: unknown in the ledger, unknown in Temporal\n  order.paid, for note-shop; it would be first_run\n`,
  });
  expect(await stage.sql('SELECT 1 FROM onefold.acts WHERE event_key = $1', [`event//shop/${id}`])).toEqual([]);

  const handed = await ingest('--yes');
  expect(handed.code).toBe(0);
  expect(handed.stdout).toMatch(new RegExp(`^shop/${id}: first_run \\(act \\S+\\)\n$`));
  expect(handed.stderr).toContain('"msg":"webhook.ingested"');
  expect(await ended(`event//shop/${id}`)).toMatchObject({ outcome: 'done' });
  expect((await ingest('--yes')).stdout).toContain(`shop/${id}: duplicate_done, done (act `);
  expect(await shipments(id)).toBe(1);
  expect(await stage.sql('SELECT kind, actor FROM onefold.acts WHERE event_key = $1', [`event//shop/${id}`])).toEqual([
    { kind: 'ingest', actor: 'bob' },
    { kind: 'ingest', actor: 'bob' },
  ]);
});

test.concurrent('--json is the outcome and nothing else, the same --act is the same wish, and standard input is read', async () => {
  const id = randomUUID();
  const args = ['ingest', '-', '--source', 'shop', '--id', id, ...why, '--yes', '--json', '--act', `act-${id}`];
  const first = await stage.run(args, { ...unsigned, stdin: paid(id) });
  expect(JSON.parse(first.stdout)).toMatchObject({ event: `shop/${id}`, path: 'first_run', act: `act-${id}` });
  const second = await stage.run(args, { ...unsigned, stdin: paid(id) });
  expect(JSON.parse(second.stdout)).toMatchObject({ path: 'first_run' });
  expect(await stage.sql('SELECT 1 FROM onefold.deliveries WHERE act = $1', [`act-${id}`])).toHaveLength(1);
});

test.concurrent('--lines hands in each line, and one that is refused does not hold up the rest', async () => {
  const ids = Array.from({ length: 4 }, () => randomUUID());
  const lines = ids.map((id) => JSON.stringify({ id, type: 'order.paid', data: { order: id } }));
  const file = await fileOf(`${lines[0]}\n\n{"type":"order.paid"}\n${lines.slice(1).join('\r\n')}`);
  const args = ['ingest', file, '--source', 'erp', '--lines', ...why];
  const looked = await stage.run([...args, '--dry-run', '--json']);
  expect(JSON.parse(looked.stdout)).toHaveLength(4);
  expect(looked.code).toBe(1);

  const handed = await stage.run([...args, '--yes', '--act', `many-${ids[0]}`]);
  expect(handed.code).toBe(1);
  expect(handed.stderr).toContain('line 3: identity_missing: ');
  expect(handed.stdout.match(/first_run/g)).toHaveLength(4);
  for (const id of ids) {
    await ended(`event//erp/${id}`);
    expect(await shipments(id)).toBe(1);
  }
  const again = await stage.run([...args, '--yes', '--act', `many-${ids[0]}`]);
  expect(again.stdout.match(/first_run/g)).toHaveLength(4);
});

test.concurrent('what is missing is asked for, and nobody who could be asked is an error', async () => {
  const id = randomUUID();
  const file = await fileOf(paid(id));
  const run = (...args: string[]) => stage.run(['ingest', ...args]);
  const named = ['--source', 'shop', '--id', id];
  expect(await run(file, ...named)).toMatchObject({ code: 2, stderr: expect.stringContaining('--reason') });
  expect(await run(file, '--source', 'shop', ...why, '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('identity_missing: '),
  });
  expect(await run(file, '--source', 'nobody', ...why, '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('unknown_source: '),
  });
  expect(await run(join(stage.folder, 'none.json'), ...named, ...why, '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('cannot be read'),
  });
  expect(await run(file, ...named, '--lines', ...why, '--yes')).toMatchObject({ code: 2 });
  expect(await run(file, ...named, '--header', 'nonsense', ...why)).toMatchObject({ code: 2 });
  expect(await run('-', ...named, ...why)).toMatchObject({ code: 2 });
  const asked = await run(file, ...named, ...why);
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining('add --yes') });
  expect(asked.stderr).toContain('it would be first_run');
  expect(await stage.sql('SELECT 1 FROM onefold.acts WHERE event_key = $1', [`event//shop/${id}`])).toEqual([]);
});
