import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { buildEvent } from '../../src/effects/build-event.js';
import { carryExternalAttempt } from '../../src/effects/carry-external-attempt.js';
import { carryLocalAttempt } from '../../src/effects/carry-local-attempt.js';
import { forwardsKey } from '../../src/effects/recovery.js';
import { businessKey } from '../../src/identity/business-identity.js';
import { type PublishDependencies, publish, publishIn } from '../../src/publisher/publish.js';
import { publishMany } from '../../src/publisher/publish-many.js';
import { createMetrics, type Metrics } from '../../src/runtime/metrics.js';
import { shop } from '../hazards/support/shop.js';
import { createOutboxStage, type OutboxStage } from './support/outbox-stage.js';
import { outgoing } from './support/outgoing.js';

let stage: OutboxStage;
let metrics: Metrics;
let deps: PublishDependencies;
beforeAll(async () => {
  stage = await createOutboxStage();
});
afterAll(() => stage?.close());
beforeEach(() => {
  metrics = createMetrics();
  deps = { ledger: stage.ledger, publications: outgoing, metrics };
});

const message = (publication: string) => ({ publication, type: 'order.confirmed' as const, data: { order: '42' } });

async function counts(): Promise<Record<string, number>> {
  const { values } = await metrics.published.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.path, value]));
}

async function attemptOf(key: string) {
  const body = JSON.stringify({ type: 'order.paid', data: { order: key } });
  const envelope = { tenant: '', id: key, type: 'order.paid', receivedAt: new Date().toISOString() };
  return {
    ...(await buildEvent(shop, envelope, body)),
    eventKey: `event//shop/${key}`,
    businessKey: businessKey(key),
    attempt: 1,
    owner: randomUUID(),
    timeoutMs: 5000,
    signal: new AbortController().signal,
    metrics,
  };
}

test('every message that is published or found published counts once, whichever way it came', async () => {
  const run = randomUUID();
  await publish(deps, message(`${run}:1`));
  await stage.ledger.database.transaction((tx) => publishIn(deps, tx, message(`${run}:2`)), {
    statementTimeoutMs: 5_000,
    lockTimeoutMs: 5_000,
    idleTimeoutMs: 5_000,
  });
  await publishMany(
    deps,
    [1, 2, 3].map((n) => message(`${run}:${n}`)),
  );
  expect(await counts()).toEqual({ published: 3, already_published: 2 });
});

test('what an effect publishes counts, in its transaction and beside it', async () => {
  const key = randomUUID();
  const local = shop.effect('confirm-order', {
    on: 'order.paid',
    businessKey: () => key,
    commit: async ({ tx }) => void (await outgoing.publishIn(tx, message(`${key}:local`))),
  });
  await carryLocalAttempt(stage.ledger, { effect: local, ...(await attemptOf(key)) });
  expect(await counts()).toEqual({ published: 1 });

  const external = shop.externalEffect('tell-partner', {
    on: 'order.paid',
    businessKey: () => key,
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: async () => void (await outgoing.publish(message(`${key}:perform`))),
    commit: async ({ tx }) => void (await outgoing.publishIn(tx, message(`${key}:commit`))),
  });
  await carryExternalAttempt({
    ledger: stage.ledger,
    attempt: {
      effect: external,
      ...(await attemptOf(key)),
      startedAt: Date.now(),
      nonRetryable: [],
      readEvent: async () => undefined,
    },
  });
  expect(await counts()).toEqual({ published: 3 });
});
