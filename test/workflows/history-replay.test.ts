import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { Runtime, Worker } from '@temporalio/worker';
import { beforeAll, expect, test } from 'vitest';
import { workflowSource } from '../../src/worker/workflow-source.js';

const folder = fileURLToPath(new URL('../histories/', import.meta.url));
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

const failures = new Map<string, string>();
const replayed = new Set<string>();
beforeAll(async () => {
  Runtime.install({ logger: quiet });
  const histories = names.map((name) => {
    const { workflowId, history } = JSON.parse(readFileSync(`${folder}${name}`, 'utf8'));
    return { workflowId: workflowId as string, history: historyFromJSON(history), name };
  });
  const workflowBundle = await workflowSource();
  const results = Worker.runReplayHistories({ workflowBundle, replayName: 'histories' }, histories);
  const nameOf = new Map(histories.map(({ workflowId, name }) => [workflowId, name]));
  for await (const { workflowId, error } of results) {
    const name = nameOf.get(workflowId) ?? workflowId;
    replayed.add(name);
    if (error) failures.set(name, error.message);
  }
}, 60_000);

test.each(names)('%s, as it was recorded, is replayed by the workflow code of today', (name) => {
  expect(replayed).toContain(name);
  expect(failures.get(name)).toBeUndefined();
});

test('no recorded history names the machine that it was recorded on', () => {
  for (const name of names) {
    const text = readFileSync(`${folder}${name}`, 'utf8');
    const payloads = [...text.matchAll(/"data": "([^"]+)"/g)].map(([, data]) =>
      Buffer.from(data ?? '', 'base64').toString(),
    );
    for (const part of [text, ...payloads]) expect(part).not.toMatch(/node_modules|file:\/\/|\.ts:\d+|"\d+@/);
  }
});
