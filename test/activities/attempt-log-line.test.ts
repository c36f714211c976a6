import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { createAttemptEffect } from '../../src/activities/attempt-effect.js';
import type { ActivityDependencies } from '../../src/activities/dependencies.js';
import { createCatalogue } from '../../src/effects/catalogue.js';
import type { Database } from '../../src/ledger/database.js';
import { schemaName } from '../../src/ledger/schema-name.js';
import { createMetrics } from '../../src/runtime/metrics.js';
import { shop } from '../hazards/support/shop.js';
import { captureLog } from '../receiver/support/captured-log.js';

const card = '4242-4242-4242-4242';

/** The SDK's own lines; those of a worker go through `installRuntime`, which drops this one. */
const quiet = new DefaultLogger('ERROR');

/** A database that grants every claim and forgets everything. */
const granting: Database<any> = {
  transaction: (work) => work({}, async () => ({ rows: [{ fence: '1', transaction: '7' }] as any[], rowCount: 1 })),
  query: async () => ({ rows: [], rowCount: 0 }),
  sqlIn: () => granting.query,
  close: async () => {},
};

/** Runs one attempt of an effect that throws, and gives back the lines it logged. */
async function linesOf(thrown: (card: string) => unknown): Promise<Record<string, unknown>[]> {
  const effect = shop.effect('charge', {
    on: 'order.paid',
    businessKey: ({ data }) => `charge:${data.order}`,
    commit: async ({ event }) => {
      throw thrown(String(event.data.card));
    },
  });
  const { log, lines } = captureLog();
  const attempt = createAttemptEffect({
    catalogue: createCatalogue([shop], [effect]),
    ledger: { database: granting, schema: schemaName('onefold') },
    log,
    metrics: createMetrics(),
    searchAttributes: [],
    graceOver: new AbortController().signal,
    client: undefined as unknown as ActivityDependencies['client'],
  });
  const argument = {
    event: {
      eventKey: 'event//shop/evt_1',
      tenant: '',
      source: 'shop',
      id: 'evt_1',
      type: 'order.paid',
      digest: 'd',
      receivedAt: '2026-11-01T00:00:00Z',
    },
    payload: { text: JSON.stringify({ type: 'order.paid', data: { order: 'o1', card } }) },
    effect: 'charge',
    effects: 1,
    policy: { timeoutMs: 5000, nonRetryableErrorTypes: [] },
    businessKey: 'charge:o1',
    attempt: 2,
    runId: 'run',
  };
  await expect(
    new MockActivityEnvironment(undefined, { logger: quiet }).run(() => attempt(argument)),
  ).rejects.toThrow();
  return lines as unknown as Record<string, unknown>[];
}

test('a failed attempt is one line with its code, the error and the place in the code', async () => {
  expect(await linesOf(() => new RangeError('no'))).toEqual([
    expect.objectContaining({
      msg: 'effect.failed',
      eventKey: 'event//shop/evt_1',
      effect: 'charge',
      businessKey: 'charge:o1',
      attempt: 2,
      code: 'effect_threw',
      permanent: false,
      error: 'RangeError',
      at: expect.stringMatching(/^test\/activities\/attempt-log-line\.test\.ts:\d+$/),
    }),
  ]);
});

test.each([
  ['the message', (value: string) => new Error(`declined: ${value}`)],
  ['a second line of the message', (value: string) => new Error(`declined\n    at ${value} (${value}:1:1)`)],
  ['a cause', (value: string) => new Error('declined', { cause: new Error(value) })],
  ['a field', (value: string) => Object.assign(new Error('declined'), { detail: `Key (card)=(${value})` })],
  ['the name', (value: string) => Object.assign(new Error('declined'), { name: value })],
  ['a thrown text', (value: string) => value],
])('a value of the payload in %s never reaches a log line', async (_where, thrown) => {
  const lines = await linesOf(thrown);
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain(card);
});
