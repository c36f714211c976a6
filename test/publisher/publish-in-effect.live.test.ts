import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { buildEvent } from '../../src/effects/build-event.js';
import { carryExternalAttempt } from '../../src/effects/carry-external-attempt.js';
import { carryLocalAttempt } from '../../src/effects/carry-local-attempt.js';
import type { CommitContext, PerformContext } from '../../src/effects/effect.js';
import { currentEffect } from '../../src/effects/effect-scope.js';
import { forwardsKey } from '../../src/effects/recovery.js';
import { businessKey } from '../../src/identity/business-identity.js';
import type { Published } from '../../src/publisher/publication.js';
import { publish, publishIn } from '../../src/publisher/publish.js';
import { publishMany } from '../../src/publisher/publish-many.js';
import { shop } from '../hazards/support/shop.js';
import { createOutboxStage, type OutboxStage } from './support/outbox-stage.js';
import { outgoing } from './support/outgoing.js';

let stage: OutboxStage;
let order: string;
beforeAll(async () => {
  stage = await createOutboxStage();
  await stage.endpoint('ep_acme', { tenant: 'acme' });
  await stage.sql('CREATE TABLE confirmations (order_id text)');
});
afterAll(() => stage?.close());
beforeEach(() => {
  order = randomUUID();
});

async function attemptOf(id: string, tenant: string, key: string) {
  const body = JSON.stringify({ type: 'order.paid', data: { order } });
  const envelope = { tenant, id, type: 'order.paid', receivedAt: new Date().toISOString() };
  return {
    ...(await buildEvent(shop, envelope, body)),
    eventKey: `event/${tenant}/shop/${id}`,
    businessKey: businessKey(key),
    attempt: 1,
    owner: randomUUID(),
    timeoutMs: 5000,
    signal: new AbortController().signal,
  };
}

/** One attempt at a local write. */
async function local(
  commit: (context: CommitContext<unknown>) => Promise<unknown>,
  { id = randomUUID(), key = `order:${order}` }: { readonly id?: string; readonly key?: string } = {},
): Promise<void> {
  const effect = shop.effect('confirm-order', { on: 'order.paid', businessKey: () => key, commit: commit as never });
  await carryLocalAttempt(stage.ledger, { effect, ...(await attemptOf(id, 'acme', key)) });
}

/** One attempt at an external effect. */
async function external(
  perform: (context: PerformContext<unknown>) => Promise<unknown>,
  commit?: (context: CommitContext<unknown>) => Promise<unknown>,
  { id = randomUUID(), key = `order:${order}` }: { readonly id?: string; readonly key?: string } = {},
) {
  const effect = shop.externalEffect('tell-partner', {
    on: 'order.paid',
    businessKey: () => key,
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: perform as never,
    ...(commit ? { commit: commit as never } : {}),
  });
  return carryExternalAttempt({
    ledger: stage.ledger,
    attempt: {
      effect,
      ...(await attemptOf(id, 'acme', key)),
      startedAt: Date.now(),
      nonRetryable: [],
      readEvent: async () => undefined,
    },
  });
}

const confirmed = (version = 'v1') => ({
  publication: `order:${order}:confirmed:${version}`,
  type: 'order.confirmed' as const,
  data: { order },
});
const recorded = (version = 'v1') =>
  stage.sql('SELECT tenant, cause::json AS cause FROM onefold.publications WHERE publication = $1', [
    `order:${order}:confirmed:${version}`,
  ]);
const rowsOf = async () => (await stage.sql('SELECT 1 FROM confirmations WHERE order_id = $1', [order])).length;
const write = ({ tx }: CommitContext<unknown>) => tx.query('INSERT INTO confirmations VALUES ($1)', [order]);

test('what an effect publishes in its transaction commits with it, for its tenant, and names its cause', async () => {
  let published: Published | undefined;
  await local(
    async (context) => {
      await write(context);
      published = await outgoing.publishIn(context.tx, confirmed());
      expect(await recorded()).toEqual([]);
    },
    { id: 'evt-1' },
  );
  expect(published).toMatchObject({ path: 'published', deliveries: [{ endpoint: 'ep_acme', state: 'queued' }] });
  expect(await recorded()).toEqual([
    {
      tenant: 'acme',
      cause: { event: 'shop/evt-1', effect: 'confirm-order', businessKey: `order:${order}` },
    },
  ]);
  expect(await rowsOf()).toBe(1);
});

test('an effect that throws after it published leaves nothing of either, and its next attempt publishes', async () => {
  const failing = local(async (context) => {
    await write(context);
    await outgoing.publishIn(context.tx, confirmed());
    throw new Error('the stock is gone');
  });
  await expect(failing).rejects.toThrow('the stock is gone');
  expect([await recorded(), await rowsOf()]).toEqual([[], 0]);
  await local(async (context) => {
    await write(context);
    expect((await outgoing.publishIn(context.tx, confirmed())).path).toBe('published');
  });
  expect([(await recorded()).length, await rowsOf()]).toEqual([1, 1]);
});

test('a duplicate of the event publishes nothing a second time', async () => {
  const commit = async ({ tx }: CommitContext<unknown>) => {
    await outgoing.publishIn(tx, confirmed());
  };
  await local(commit, { id: 'evt-a' });
  await local(commit, { id: 'evt-b' });
  expect(await recorded()).toMatchObject([{ cause: { event: 'shop/evt-a' } }]);
});

test('a conflict inside an effect can be caught, and does not abort its transaction', async () => {
  await publish(stage.deps, { ...confirmed(), tenant: 'acme', data: { order: 'another' } });
  await local(async (context) => {
    await expect(outgoing.publishIn(context.tx, confirmed())).rejects.toMatchObject({ code: 'publication_conflict' });
    await write(context);
  });
  expect(await rowsOf()).toBe(1);
});

test('perform publishes at once, and a repeated attempt finds it published', async () => {
  const paths: string[] = [];
  const perform = async () => {
    paths.push((await outgoing.publish(confirmed())).path);
    expect(await recorded()).toHaveLength(1);
    if (paths.length === 1) throw Object.assign(new Error('no'), { status: 422 });
    return null;
  };
  await external(perform);
  expect(await external(perform)).toMatchObject({ kind: 'ended', outcome: 'done' });
  expect(paths).toEqual(['published', 'already_published']);
  expect(await recorded()).toMatchObject([{ tenant: 'acme', cause: { effect: 'tell-partner' } }]);
});

test('the commit of an external effect publishes with its completion', async () => {
  const ended = await external(
    async () => null,
    async ({ tx }) => {
      await outgoing.publishIn(tx, confirmed());
    },
    { id: 'evt-2' },
  );
  expect(ended).toMatchObject({ kind: 'ended', outcome: 'done' });
  expect(await recorded()).toMatchObject([{ tenant: 'acme', cause: { event: 'shop/evt-2', effect: 'tell-partner' } }]);
});

test('what the application publishes inside an effect has its cause, and the tenant that the message names', async () => {
  const many = (version: string, more = {}) => publishMany(stage.deps, [{ ...confirmed(version), ...more }]);
  await local(async ({ tx }) => {
    await publishIn(stage.deps, tx, confirmed('v1'));
    await many('v2');
    await publish(stage.deps, { ...confirmed('v3'), tenant: 'acme' });
    await outgoing.publish({ ...confirmed('v4'), tenant: '' });
  });
  const cause = { effect: 'confirm-order' };
  const tenants = ['', '', 'acme', ''];
  for (const [n, tenant] of tenants.entries()) expect(await recorded(`v${n + 1}`)).toMatchObject([{ tenant, cause }]);
});

test('what was made inside an effect and outlives it publishes for no tenant, and names no cause', async () => {
  let tell: (version: string) => Promise<unknown> = async () => undefined;
  let declared: Promise<unknown> | undefined;
  const ended = new Promise<void>((resolve) => {
    void local(async () => {
      // A batcher: its loop keeps the scope of whoever called first.
      const queue: ((version: string) => void)[] = [];
      const told = (async () => {
        const version = await new Promise<string>((next) => void queue.push(next));
        declared = outgoing.publish(confirmed(`${version}-declared`));
        await declared.catch(() => {});
        return publish(stage.deps, confirmed(version));
      })();
      tell = (version) => {
        queue[0]?.(version);
        return told;
      };
    }).then(resolve);
  });
  await ended;
  await tell('v1');
  expect(await recorded('v1')).toEqual([{ tenant: '', cause: null }]);
  await expect(declared).rejects.toMatchObject({ code: 'config_invalid' });
});

test('the scope of an effect is over when its function has thrown', async () => {
  const late: unknown[] = [];
  let look: Promise<void> | undefined;
  await expect(
    local(async () => {
      look = sleep(50).then(() => void late.push(currentEffect()));
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  await look;
  expect(late).toEqual([undefined]);
});

test('work that an effect began keeps its scope, however nested, and effects side by side do not mix', async () => {
  const keys = Array.from({ length: 9 }, (_, n) => `order:${order}:${n}`);
  const seen: string[][] = [];
  await Promise.all(
    keys.map((key, n) =>
      local(
        async () => {
          const mine: string[] = [];
          const look = () => void mine.push(currentEffect()?.businessKey ?? 'none');
          look();
          await sleep(Math.random() * 30);
          look();
          await Promise.all([
            sleep(5).then(look),
            new Promise<void>((resolve) => {
              setTimeout(() => {
                look();
                resolve();
              }, 5);
            }),
            outgoing.publish({ publication: `${key}:told`, type: 'order.note', data: n }),
          ]);
          look();
          seen[n] = mine;
        },
        { key },
      ),
    ),
  );
  expect(seen).toEqual(keys.map((key) => [key, key, key, key, key]));
  const causes = await stage.sql<{ publication: string; cause: { businessKey: string } }>(
    `SELECT publication, cause::json AS cause FROM onefold.publications WHERE publication LIKE $1`,
    [`order:${order}:%:told`],
  );
  expect(causes).toHaveLength(9);
  for (const { publication, cause } of causes) expect(publication).toBe(`${cause.businessKey}:told`);
  expect(currentEffect()).toBeUndefined();
});

test('outside of an effect the declaration says what to call instead', async () => {
  await expect(outgoing.publish(confirmed())).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('onefold.publish'),
  });
  await expect(outgoing.publishIn({} as never, confirmed())).rejects.toThrow(/onefold\.publishIn/);
});
