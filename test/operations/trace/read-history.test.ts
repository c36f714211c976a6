import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { expect, test } from 'vitest';
import { readHistory } from '../../../src/operations/trace/read-history.js';
import type { TracedRun } from '../../../src/operations/trace/read-run.js';
import type { HistoryEvent } from '../../../src/operations/trace/run-reading.js';

const folder = fileURLToPath(new URL('../../histories/', import.meta.url));
const read = (name: string): Promise<TracedRun> => {
  const { history } = JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as { history: unknown };
  const { events = [] } = historyFromJSON(history);
  return readHistory('run', events as HistoryEvent[], async (payload) =>
    payload ? defaultPayloadConverter.fromPayload(payload) : undefined,
  );
};
const texts = ({ steps }: TracedRun, what: string): string[] =>
  steps.filter((step) => step.what === what).map(({ text }) => text);

test('attempts are told with number, reason and end, wherever they ran', async () => {
  const run = await read('retried-then-done');
  expect(texts(run, 'attempt')).toEqual([
    'attempt 1 of 3 · ship-order · ship-order:retried-then-done: effect_threw: Error: the warehouse said no',
    'attempt 2 of 3 · ship-order · ship-order:retried-then-done: effect_threw: Error: the warehouse said no',
    'attempt 3 of 3 · ship-order · ship-order:retried-then-done: done (fence 1)',
  ]);
  expect(texts(run, 'pause')).toHaveLength(2);
  expect(run).toMatchObject({ status: 'completed', planned: true });
});

test('a pause that was ended early is told with the signal that ended it', async () => {
  const run = await read('retried-now');
  expect(texts(run, 'signal')).toEqual(['signal retryNow ship-order, sent by recorded']);
  expect(texts(run, 'pause')).toEqual([
    expect.stringMatching(/^pause of 1\.2 min, ended early after \d+ ms: ship-order: next try/),
  ]);
});

test('an abandon is told with who asked for it and why', async () => {
  const run = await read('abandoned');
  expect(texts(run, 'update')).toEqual(['abandon asked by ann: the customer left', 'abandon carried out']);
});

test('no recorded history is beyond reading, and none lets a payload through', async () => {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
    const run = await read(file.slice(0, -'.json'.length));
    expect(run.steps[0]?.what, file).toMatch(/^(run_started|reset)$/);
    expect(run.endedAt ?? run.status, file).toBeDefined();
    expect(JSON.stringify(run.steps), file).not.toMatch(/data\\*"/);
  }
});
