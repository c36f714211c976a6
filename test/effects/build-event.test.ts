import { expect, test } from 'vitest';
import { z } from 'zod';
import { buildEvent } from '../../src/effects/build-event.js';
import { dataDigest } from '../../src/effects/data-digest.js';
import { github } from '../../src/sources/github.js';
import { types } from '../../src/sources/types.js';

const hooks = github('code', {
  secrets: 'fake',
  events: {
    star: z.object({ repository: z.object({ id: z.number() }) }),
    push: types<unknown>(),
    fork: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }),
  },
});

async function digestOf(type: string, json: string): Promise<string> {
  const envelope = { tenant: '', id: 'evt_1', type, receivedAt: '2026-11-01T00:00:00.000Z' };
  return (await buildEvent(hooks, envelope, json)).dataDigest;
}

test('what a schema of the whole payload does not name is not compared', async () => {
  const first = await digestOf('star', '{"delivery":"a","at":1,"repository":{"id":7}}');
  expect(await digestOf('star', '{"repository":{"id":7},"delivery":"b","at":2}')).toBe(first);
  expect(await digestOf('star', '{"delivery":"a","at":1,"repository":{"id":8}}')).not.toBe(first);
});

test('types alone compare the whole payload', async () => {
  const first = await digestOf('push', '{"delivery":"a","id":7}');
  expect(await digestOf('push', '{"id":7,"delivery":"a"}')).toBe(first);
  expect(await digestOf('push', '{"id":7,"delivery":"b"}')).not.toBe(first);
});

test('numbers beyond 2^53 differ in their last digit', async () => {
  const first = await digestOf('push', '{"id":9007199254740993}');
  expect(await digestOf('push', '{"id":9007199254740992}')).not.toBe(first);
});

test('a number is the same with and without its empty decimals, beside a long one too', async () => {
  expect(await digestOf('push', '{"id":9007199254740993,"n":1.0}')).toBe(
    await digestOf('push', '{"n":1,"id":9007199254740993}'),
  );
});

test('a schema that makes dates of texts does not make all dates one', async () => {
  expect(await digestOf('fork', '{"at":"2026-11-01T00:00:00Z"}')).not.toBe(
    await digestOf('fork', '{"at":"2026-11-02T00:00:00Z"}'),
  );
});

test('values that JSON has no form for have a digest of their contents', () => {
  const digests = [1n, 1, new Map([[1, 2]]), new Map([[1, 3]]), new Set([1]), [1]].map(dataDigest);
  expect(new Set(digests).size).toBe(digests.length);
});

test('data that do not match their schema are named by place and kind, never by what came', async () => {
  await expect(digestOf('star', '{"repository":{"id":"hunter2"}}')).rejects.toMatchObject({
    code: 'data_invalid',
    message: "the data of 'star' do not match their schema: repository.id (invalid_type)",
  });
  await expect(digestOf('star', '"hunter2"')).rejects.toThrow(/schema: the whole \(invalid_type\)$/);
});
