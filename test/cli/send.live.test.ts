import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliStage, createCliStage } from './support/cli-stage.js';
import type { Running } from './support/onefold-cli.js';

const shopFolder = new URL('../../examples/shop/', import.meta.url);
const fileOf = (path: string) => fileURLToPath(new URL(path, shopFolder));

let stage: CliStage;
let receiver: Running & { readonly url: string };
beforeAll(async () => {
  const schema = readFileSync(fileOf('schema.sql'), 'utf8');
  stage = await createCliStage(fileOf('onefold.ts'), schema);
  // Setting the example up again is harmless.
  await stage.sql(schema);
  [receiver] = await Promise.all([stage.receiver(), stage.worker()]);
});
afterAll(() => stage?.close());

/** Sends to a source of the example; gives back the exit code, the answers, and what was written beside them. */
async function send(source: string, file: string, ...args: string[]) {
  const url = `${receiver.url}/${source}`;
  const { code, stdout, stderr } = await stage.run(['send', file, '--source', source, '--url', url, ...args]);
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => /^(\d+) (\S+) \d+ ms (.*)$/.exec(line)?.slice(1) ?? [line]);
  return { code, stderr, answers };
}
const ended = (eventKey: string) => stage.client.workflow.getHandle(eventKey).result();

test('three deliveries of one event at once are one first run and one shipment', async () => {
  const file = fileOf('events/order-paid.json');
  const id = randomUUID();
  const { code, stderr, answers } = await send('shop', file, '--id', id, '--times', '3', '--concurrency', '3');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(answers).toHaveLength(3);
  expect(answers.filter(([, path]) => path === 'first_run')).toHaveLength(1);
  for (const [status, path] of answers) {
    expect(`${status} ${path}`).toMatch(/^(202 first_run|202 in_progress_elsewhere|200 duplicate_done)$/);
  }
  expect(await ended(`event//shop/${id}`)).toMatchObject({ outcome: 'done' });
  const again = await send('shop', file, '--id', id);
  expect(again.answers).toEqual([['200', 'duplicate_done', expect.stringContaining('"shipment":"shp_1"')]]);
  expect(await stage.sql('SELECT fulfilment, order_id FROM shop.shipments')).toEqual([
    { fulfilment: 'fulfilment-42-1', order_id: 'order-42' },
  ]);
});

test.concurrent("a payload of GitHub goes out with GitHub's type, and reaches the effect of its action", async () => {
  const id = randomUUID();
  const { code, answers } = await send('github', fileOf('payloads/github/issues.opened.json'), '--id', id);
  expect(code).toBe(0);
  expect(answers).toEqual([['202', 'first_run', expect.stringContaining(`"event":"github/${id}"`)]]);
  expect(await ended(`event//github/${id}`)).toMatchObject({ outcome: 'done' });
  const { issue, repository } = JSON.parse(readFileSync(fileOf('payloads/github/issues.opened.json'), 'utf8'));
  expect(await stage.sql('SELECT issue_id::int AS id, repository, title FROM shop.triage')).toEqual([
    { id: issue.id, repository: repository.full_name, title: issue.title },
  ]);
});

test.concurrent.each([
  ['push.json', []],
  ['star.created.json', []],
  ['issues.opened.json', ['--type', 'pull_request.opened']],
])('%s of GitHub sent with %j is an event that nobody subscribes to', async (file, args) => {
  const { code, answers } = await send('github', fileOf(`payloads/github/${file}`), '--id', randomUUID(), ...args);
  expect(code).toBe(0);
  expect(answers).toEqual([['200', 'ignored', expect.any(String)]]);
});

test.concurrent('the same file is the same event, whatever it is called, and another body is another one', async () => {
  const file = join(stage.folder, 'order.paid.json');
  const body = { type: 'order.paid', data: { order: randomUUID(), fulfilment: 'f-1', items: [] } };
  await writeFile(file, JSON.stringify(body));
  const first = await send('shop', file);
  const second = await send('shop', file);
  expect([first.answers[0]?.[1], second.answers[0]?.[1]]).toEqual([
    'first_run',
    expect.not.stringMatching('first_run'),
  ]);
  await writeFile(file, JSON.stringify({ ...body, data: { ...body.data, fulfilment: 'f-2' } }));
  expect((await send('shop', file)).answers[0]?.[1]).toBe('first_run');
});

test.concurrent('a payload can come from standard input', async () => {
  const id = randomUUID();
  const stdin = JSON.stringify({
    id,
    type: 'order.paid',
    data: { order: 'o', fulfilment: 'f-3', items: [] },
  });
  const ended = await stage.run(['send', '-', '--source', 'shop', '--url', `${receiver.url}/shop`], { stdin });
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(`^202 first_run .*"event":"shop/${id}"`) });
});

test.concurrent('a refused delivery is exit code 1, and its answer is shown', async () => {
  const file = join(stage.folder, 'broken.json');
  await writeFile(file, '{"type":"order.paid"');
  const { code, answers } = await send('shop', file);
  expect(code).toBe(1);
  expect(answers).toEqual([['400', '-', expect.stringContaining('"code":"body_malformed"')]]);
});

test.concurrent.each([
  ['an unknown source', ['--source', 'shopp'], /^onefold: unknown_source: no source 'shopp' .*shop, github/],
  [
    'no receiver',
    ['--source', 'shop', '--url', 'http://127.0.0.1:1/webhooks/shop'],
    /^onefold: config_invalid: no receiver answers at /,
  ],
])('a send to %s is refused with a code and a sentence', async (_what, args, message) => {
  const { code, stderr } = await stage.run(['send', fileOf('events/order-paid.json'), ...args]);
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
});

test.concurrent('a file that is not there is refused, and named', async () => {
  const { code, stderr } = await stage.run(['send', 'nowhere.json', '--source', 'shop']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^onefold: config_invalid: nowhere\.json cannot be read/);
});
