import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import { deliverUntilTaken } from './support/deliver-until-taken.js';

let stage: CliStage;
const done = `evt-${randomUUID()}`;
const dead = `evt-${randomUUID()}`;

beforeAll(async () => {
  stage = await createCliStage(fileURLToPath(new URL('./fixtures/incident.ts', import.meta.url)));
  const [receiver] = await Promise.all([stage.receiver(), stage.worker()]);
  const file = join(stage.folder, 'refuse');
  await writeFile(file, '');
  await deliverUntilTaken(stage, receiver.url, done, { order: done });
  // Its name is a stranger's text, and a terminal must not obey it.
  await deliverUntilTaken(stage, receiver.url, dead, { order: `\u001b[31m${dead}\n`, refuseWhile: file });
  for (const id of [done, dead]) {
    await stage.client.workflow
      .getHandle(`event//shop/${id}`)
      .result()
      .catch(() => {});
  }
}, 240_000);
afterAll(() => stage?.close());

test('events list: one line per event, the latest first, filters, pages and JSON', async () => {
  const { code, stdout } = await stage.run(['events', 'list']);
  expect(code).toBe(0);
  const [latest, first, ...rest] = stdout.split('\n');
  expect(rest).toEqual(['']);
  expect(latest).toMatch(
    new RegExp(`^\\S+Z dead_lettered shop/${dead} order.paid permanent_error \\(ship-order shipment:`),
  );
  expect(latest).not.toContain('\u001b');
  expect(first).toMatch(new RegExp(`^\\S+Z done +shop/${done} order.paid \\(ship-order shipment:${done} done\\)$`));

  const page = await stage.run([
    'events',
    'list',
    '--limit',
    '1',
    '--state',
    'done',
    '--business-key',
    `shipment:${done}`,
    '--json',
  ]);
  expect(JSON.parse(page.stdout)).toMatchObject({ items: [{ event: `shop/${done}`, state: 'done' }] });
  const paged = await stage.run(['events', 'list', '--limit', '1']);
  const cursor = /more: --cursor (\S+)/.exec(paged.stderr)?.[1] ?? '';
  expect((await stage.run(['events', 'list', '--limit', '1', '--cursor', cursor])).stdout).toContain(done);
  const none = await stage.run(['events', 'list', '--source', 'elsewhere']);
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('no such events') });
  expect((await stage.run(['events', 'list', '--state', 'lost'])).code).toBe(2);
}, 240_000);

test('events show says where it stands in both places', async () => {
  const { stdout } = await stage.run(['events', 'show', `shop/${dead}`]);
  expect(stdout).toContain('dead_lettered in the ledger, failed in Temporal');
  expect(stdout).toContain('not_done');
  expect(stdout).toMatch(/ {2}dead letter \d+ \S+Z open event shop\/\S+ order.paid permanent_error: /);
  const unknown = await stage.run(['events', 'show', 'shop/nobody']);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('event_unknown') });
}, 240_000);

test('dead-letters: counted, listed, shown, and given an owner, who is in the acts', async () => {
  expect((await stage.run(['dead-letters', 'count'])).stdout).toMatch(
    /^ +1 event of shop: permanent_error, the oldest .* old/,
  );
  expect((await stage.run(['dead-letters', 'list', '--kind', 'delivery'])).stderr).toContain('no dead letters');
  expect((await stage.run(['dead-letters', 'list', '--parked'])).stderr).toContain('no dead letters');
  expect((await stage.run(['dead-letters', 'list', '--no-parked'])).stdout).toContain(dead);
  const shown = await stage.run(['dead-letters', 'show', `shop/${dead}`]);
  expect(shown.stdout).toMatch(/attempt 1: permanent_error: .* is not for sale/);
  const note = ['dead-letters', 'note', `shop/${dead}`, '--owner', 'ada', '--reason', 'my turn', '--by', 'ada'];
  expect((await stage.run([...note, '--dry-run'])).stdout).not.toContain('ada looks after it');
  expect((await stage.run(note)).stdout).toContain('ada looks after it');
  expect((await stage.run(['dead-letters', 'list', '--owner', 'ada'])).stdout).toContain(dead);
  const acts = await stage.run(['acts', 'list', '--about', `shop/${dead}`]);
  expect(acts.stdout).toMatch(new RegExp(`^\\S+Z note event//shop/${dead} by ada: my turn \\(noted, act \\S+\\)\n$`));
  expect((await stage.run(['acts', 'list', '--kind', 'guess'])).code).toBe(2);
  expect((await stage.run(['dead-letters', 'note', `shop/${dead}`, '--reason', 'r'])).stderr).toContain('note_refused');
  expect((await stage.run(['dead-letters', 'note', `shop/${dead}`, '--owner', 'x'])).code).toBe(2);
}, 240_000);

test('publications: an application that publishes nothing has none', async () => {
  expect(await stage.run(['publications', 'list'])).toMatchObject({ code: 0, stdout: '' });
  const unknown = await stage.run(['publications', 'show', 'order:1']);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('publication_unknown') });
}, 240_000);
