import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/ledger/database.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import type { PublicationFields } from '../../src/publisher/publication.js';
import { publish } from '../../src/publisher/publish.js';
import { type PublishProgress, publishMany } from '../../src/publisher/publish-many.js';
import { until } from '../hazards/support/until.js';
import { startProxy } from '../receiver/support/switchable-proxy.js';
import { createOutboxStage, type OutboxStage } from './support/outbox-stage.js';

let stage: OutboxStage;
beforeAll(async () => {
  stage = await createOutboxStage();
  for (const id of ['ep_1', 'ep_2']) await stage.endpoint(id, { types: ['order.*'] });
});
afterAll(() => stage?.close());

const note = (run: string, n: number): PublicationFields => ({
  publication: `${run}:${n}`,
  type: 'order.note',
  data: { n },
});
function* notes(run: string, count: number): Generator<PublicationFields> {
  for (let n = 0; n < count; n++) yield note(run, n);
}
const rowsOf = async (run: string) => {
  const [row] = await stage.sql<{ publications: number; deliveries: number }>(
    `SELECT (SELECT count(*)::int FROM onefold.publications WHERE publication LIKE $1) AS publications,
            (SELECT count(*)::int FROM onefold.publication_deliveries WHERE publication LIKE $1) AS deliveries`,
    [`${run}:%`],
  );
  return row;
};

test('a list is published in statements of a hundred, with progress, and repeating it adds nothing', async () => {
  const run = randomUUID();
  let statements = 0;
  const { database, schema } = stage.ledger;
  const query: Sql = (text, values) => {
    statements += 1;
    return database.query(text, values);
  };
  const deps = { ...stage.deps, ledger: { schema, database: { ...database, query } } };
  const told: PublishProgress[] = [];
  const onProgress = (progress: PublishProgress) => void told.push(progress);
  expect(await publishMany(deps, notes(run, 1_234), { onProgress })).toEqual({
    settled: 1_234,
    published: 1_234,
    alreadyPublished: 0,
    refused: 0,
    deliveries: 2_468,
  });
  expect(statements).toBe(13);
  expect(told).toHaveLength(14);
  expect(told.map(({ settled }) => settled)).toEqual(told.map(({ settled }) => settled).sort((a, b) => a - b));
  expect(await publishMany(stage.deps, notes(run, 1_234))).toMatchObject({ published: 0, alreadyPublished: 1_234 });
  expect(await rowsOf(run)).toEqual({ publications: 1_234, deliveries: 2_468 });
});

test('a stream is read no faster than it is written, so that memory stays bounded', async () => {
  const run = randomUUID();
  let read = 0;
  let most = 0;
  let settled = 0;
  async function* stream(): AsyncGenerator<PublicationFields> {
    for (const one of notes(run, 3_000)) {
      read += 1;
      most = Math.max(most, read - settled);
      yield one;
    }
  }
  await publishMany(stage.deps, stream(), {
    concurrency: 2,
    onProgress: (progress) => {
      settled = progress.settled;
    },
  });
  expect(read).toBe(3_000);
  // Two statements under way, and one being filled.
  expect(most).toBeLessThanOrEqual(301);
});

test('large messages make small statements', async () => {
  const run = randomUUID();
  const sizes: number[] = [];
  const { database, schema } = stage.ledger;
  const query: Sql = (text, values) => {
    const [, , , , , bodies = []] = (values ?? []) as string[][];
    sizes.push(bodies.reduce((sum, body) => sum + body.length, 0));
    return database.query(text, values);
  };
  const large = Array.from({ length: 40 }, (_, n) => ({ ...note(run, n), data: 'x'.repeat(200_000) }));
  await publishMany({ ...stage.deps, ledger: { schema, database: { ...database, query } } }, large);
  expect(sizes.length).toBeGreaterThan(1);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(4 * 1024 * 1024);
});

test('what is refused is told with its place, and the others go on', async () => {
  const run = randomUUID();
  await publish(stage.deps, { ...note(run, 3), data: 'something else' });
  const list: unknown[] = [...notes(run, 5)];
  list.splice(2, 0, { ...note(run, 99), type: 'order.unheard' }, null);
  const refused: [number, string][] = [];
  const progress = await publishMany(stage.deps, list as PublicationFields[], {
    onRefused: ({ index, error }) => void refused.push([index, error.code]),
  });
  expect(refused).toEqual([
    [2, 'publication_type_unknown'],
    [3, 'publication_invalid'],
    [5, 'publication_conflict'],
  ]);
  expect(progress).toEqual({ settled: 7, published: 4, alreadyPublished: 0, refused: 3, deliveries: 8 });
});

test('without anybody to tell, the first refusal ends it, and what was written stays', async () => {
  const run = randomUUID();
  await publish(stage.deps, { ...note(run, 150), data: 'something else' });
  await expect(publishMany(stage.deps, notes(run, 1_000), { concurrency: 1 })).rejects.toMatchObject({
    code: 'publication_conflict',
  });
  const rows = await rowsOf(run);
  expect(rows?.publications).toBeGreaterThanOrEqual(200);
  expect(rows?.publications).toBeLessThan(1_000);
});

test('the same publication twice in a list is found the second time, and a differing one refused', async () => {
  const run = randomUUID();
  const list = [note(run, 1), note(run, 2), note(run, 1), { ...note(run, 2), data: 'other' }, note(run, 1)];
  const refused: number[] = [];
  const progress = await publishMany(stage.deps, list, { onRefused: ({ index }) => void refused.push(index) });
  expect(progress).toMatchObject({ published: 2, alreadyPublished: 2, refused: 1, deliveries: 4 });
  expect(refused).toEqual([3]);
});

test('two lists in opposite order side by side publish each once', async () => {
  const run = randomUUID();
  const list = [...notes(run, 400)];
  const [one, two] = await Promise.all([
    publishMany(stage.deps, list, { concurrency: 4 }),
    publishMany(stage.deps, [...list].reverse(), { concurrency: 4 }),
  ]);
  expect(one.published + two.published).toBe(400);
  expect(one.alreadyPublished + two.alreadyPublished).toBe(400);
  expect(await rowsOf(run)).toEqual({ publications: 400, deliveries: 800 });
});

test('an aborted list stops between statements, and its repetition goes on', async () => {
  const run = randomUUID();
  const stopping = new AbortController();
  const stopped = publishMany(stage.deps, notes(run, 2_000), {
    signal: stopping.signal,
    onProgress: ({ settled }) => {
      if (settled >= 500) stopping.abort(new Error('enough'));
    },
  });
  await expect(stopped).rejects.toThrow('enough');
  const before = (await rowsOf(run))?.publications ?? 0;
  expect(before).toBeGreaterThanOrEqual(500);
  expect(before).toBeLessThan(2_000);
  expect(await publishMany(stage.deps, notes(run, 2_000))).toMatchObject({
    published: 2_000 - before,
    alreadyPublished: before,
  });
});

/** A stream that gives so many messages and then nothing, until it is closed. */
function stuck(run: string, count: number): AsyncIterable<PublicationFields> & { closed: boolean } {
  const stream = {
    closed: false,
    [Symbol.asyncIterator]() {
      let n = 0;
      return {
        next: () =>
          n < count
            ? Promise.resolve({ done: false as const, value: note(run, n++) })
            : new Promise<IteratorResult<PublicationFields>>(() => {}),
        return: async () => {
          stream.closed = true;
          return { done: true as const, value: undefined };
        },
      };
    },
  };
  return stream;
}

test('a message of a slow stream is published while the stream gives nothing, and an abort then is heard', async () => {
  const run = randomUUID();
  const stopping = new AbortController();
  const stream = stuck(run, 3);
  const publishing = publishMany(stage.deps, stream, { signal: stopping.signal });
  publishing.catch(() => {});
  await until('they are published', async () => (await rowsOf(run))?.publications === 3);
  expect(stream.closed).toBe(false);
  stopping.abort(new Error('enough'));
  await expect(publishing).rejects.toThrow('enough');
  expect(stream.closed).toBe(true);
});

test('a trickling stream shares statements, each of what came within a tenth of a second', async () => {
  const run = randomUUID();
  let statements = 0;
  const { database, schema } = stage.ledger;
  const query: Sql = (text, values) => {
    statements += 1;
    return database.query(text, values);
  };
  async function* trickle(): AsyncGenerator<PublicationFields> {
    for (const one of notes(run, 30)) {
      await sleep(30);
      yield one;
    }
  }
  const deps = { ...stage.deps, ledger: { schema, database: { ...database, query } } };
  expect(await publishMany(deps, trickle())).toMatchObject({ published: 30 });
  expect(statements).toBeGreaterThan(3);
  expect(statements).toBeLessThan(20);
});

test('a failed write ends it while the stream gives nothing', async () => {
  const run = randomUUID();
  await publish(stage.deps, { ...note(run, 1), data: 'something else' });
  const stream = stuck(run, 2);
  await expect(publishMany(stage.deps, stream)).rejects.toMatchObject({ code: 'publication_conflict' });
  expect(stream.closed).toBe(true);
});

test('a stream that fails ends it with its error, and what came before is not lost to the next run', async () => {
  const run = randomUUID();
  async function* failing(): AsyncGenerator<PublicationFields> {
    yield* notes(run, 150);
    throw new Error('the file ended early');
  }
  await expect(publishMany(stage.deps, failing())).rejects.toThrow('the file ended early');
  expect(await publishMany(stage.deps, notes(run, 150))).toMatchObject({ settled: 150, alreadyPublished: 100 });
});

test('a database that is away for a moment is waited for', async () => {
  const run = randomUUID();
  const target = new URL(stage.databaseUrl);
  const proxy = await startProxy(`${target.hostname}:${target.port}`);
  target.hostname = '127.0.0.1';
  target.port = proxy.address.split(':')[1] as string;
  const database = pgDatabase({ connectionString: target.href, connectTimeoutMs: 500 });
  try {
    async function* stream(): AsyncGenerator<PublicationFields> {
      for (const one of notes(run, 600)) {
        if (one.publication.endsWith(':300')) await proxy.become('refuse');
        yield one;
      }
    }
    const publishing = publishMany({ ...stage.deps, ledger: { ...stage.ledger, database } }, stream());
    await sleep(1_000);
    await proxy.become('up');
    const { published, alreadyPublished } = await publishing;
    // A statement whose answer was lost may have been carried out.
    expect(published + alreadyPublished).toBe(600);
    expect(await rowsOf(run)).toEqual({ publications: 600, deliveries: 1_200 });
  } finally {
    await database.close();
    await proxy.close();
  }
});

test('a wrong option is refused', async () => {
  await expect(publishMany(stage.deps, [], { concurrency: 0 })).rejects.toMatchObject({ code: 'config_invalid' });
  await expect(publishMany(stage.deps, [], { batch: 5 } as never)).rejects.toMatchObject({ code: 'config_invalid' });
});
