import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../hazards/support/until.js';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import { deliverUntilTaken } from './support/deliver-until-taken.js';

let stage: CliStage;
let url: string;

beforeAll(async () => {
  stage = await createCliStage(fileURLToPath(new URL('./fixtures/incident.ts', import.meta.url)));
  const [receiver] = await Promise.all([stage.receiver(), stage.worker()]);
  url = receiver.url;
}, 240_000);
afterAll(() => stage?.close());

const id = () => `evt-${randomUUID()}`;

async function ended(event: string): Promise<string> {
  const handle = stage.client.workflow.getHandle(`event//shop/${event}`);
  await handle.result().catch(() => {});
  return (await handle.describe()).status.name;
}

async function refused(event: string): Promise<string> {
  const file = join(stage.folder, `refuse-${event}`);
  await writeFile(file, '');
  await deliverUntilTaken(stage, url, event, { order: event, refuseWhile: file });
  await ended(event);
  return file;
}

async function shipped(order: string): Promise<number> {
  return (await stage.sql('SELECT 1 FROM shipments WHERE order_id = $1', [order])).length;
}

test('of a dead-lettered event replay and abandon are offered, and the one that is chosen is carried out', async () => {
  const event = id();
  const file = await refused(event);
  const shown = await stage.run(['fix', `shop/${event}`]);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('dead_lettered in the ledger');
  expect(shown.stdout).toMatch(/what can be done\n {2}1 {2}replay: .*\n.*onefold replay .*\n {2}2 {2}abandon: /);
  expect(await ended(event)).toBe('FAILED');

  await rm(file);
  const done = await stage.run([
    'fix',
    `shop/${event}`,
    '--do',
    'replay',
    '--reason',
    'for sale again',
    '--by',
    'ada',
    '--yes',
  ]);
  expect(done.code).toBe(0);
  expect(await ended(event)).toBe('COMPLETED');
  expect(await shipped(event)).toBe(1);
  const acts = await stage.sql("SELECT kind, actor, reason FROM onefold.acts WHERE event_key LIKE '%' || $1", [event]);
  expect(acts).toEqual([{ kind: 'replay', actor: 'ada', reason: 'for sale again' }]);
}, 240_000);

test('of a done event nothing is offered, and an act that is not valid is refused with those that are', async () => {
  const event = id();
  await deliverUntilTaken(stage, url, event, { order: event });
  await ended(event);
  expect((await stage.run(['fix', `shop/${event}`])).stdout).toContain('nothing is to be done about it');
  const { code, stderr } = await stage.run(['fix', `shop/${event}`, '--do', 'abandon', '--reason', 'r', '--yes']);
  expect(code).toBe(1);
  expect(stderr).toContain("act_invalid: 'abandon' is not valid here; valid are: none");
}, 240_000);

test('of an event that waits retry-now is offered; --json prints the acts and carries out nothing', async () => {
  const event = id();
  const file = join(stage.folder, `fail-${event}`);
  await writeFile(file, '');
  await deliverUntilTaken(stage, url, event, { order: event, failWhile: file });
  const acts = async () => JSON.parse((await stage.run(['fix', `shop/${event}`, '--json'])).stdout).next;
  const offered = await until('the pause', async () => {
    const found = (await acts()).map(({ act }: { act: string }) => act);
    return found.includes('retry_now') && found;
  });
  expect(offered).toEqual(['retry_now', 'abandon']);
  await rm(file);
  expect((await stage.run(['fix', `shop/${event}`, '--do', '1', '--reason', 'mended', '--yes'])).code).toBe(0);
  expect(await ended(event)).toBe('COMPLETED');
}, 240_000);

test('without a terminal and without --reason nothing is done; a name that nobody knows is an error', async () => {
  const event = id();
  await refused(event);
  const { code, stderr } = await stage.run(['fix', `shop/${event}`, '--do', 'abandon']);
  expect(code).toBe(1);
  expect(stderr).toContain('confirmation_missing: nobody is there to ask: add --reason');
  const unknown = await stage.run(['fix', 'shop/nobody-knows-it']);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('identity_unknown') });
}, 240_000);
