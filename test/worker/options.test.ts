import { expect, test } from 'vitest';
import { perEvent } from '../../src/effects/declare-effect.js';
import { park } from '../../src/effects/recovery.js';
import { pgDatabase } from '../../src/ledger/pg-database.js';
import { createOnefold } from '../../src/onefold.js';
import { operationsContext } from '../../src/operations/context.js';
import { connectClient } from '../../src/runtime/temporal.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { connectionsOf } from '../../src/worker/create-worker.js';

const invalid = (message: string) =>
  expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) });
const onefold = () => createOnefold({ sources: [], effects: [] });

test.each([
  ['a misspelt option', { concurency: 2 }, "worker: unknown option 'concurency'; did you mean 'concurrency'?"],
  ['no concurrency', { concurrency: 0 }, 'worker.concurrency: expected a whole number from 1 to 1000, got 0'],
  ['a concurrency that is no number', { concurrency: Number.NaN }, 'worker.concurrency: expected a whole number'],
  ['half a concurrency', { concurrency: 1.5 }, 'worker.concurrency: expected a whole number'],
  [
    'a grace beyond an hour',
    { shutdownGraceMs: 3_600_001 },
    'worker.shutdownGraceMs: expected a whole number from 0 to',
  ],
])('%s of a worker is refused where it is made', (_what, options, message) => {
  expect(() => onefold().worker(options as object)).toThrow(invalid(message));
});

test('a misspelt setting of Temporal is refused before anything connects', () => {
  const temporal = { adress: 'localhost:7233' } as object;
  const message = "unknown option 'adress'; did you mean 'address'?";
  expect(() => createOnefold({ sources: [], effects: [], temporal })).toThrow(invalid(message));
  expect(() => connectClient(temporal)).toThrow(invalid(message));
});

test('a misspelt option of the database is refused, and so is a pool of none', () => {
  const connectionString = 'postgres://127.0.0.1/none';
  expect(() => pgDatabase({ connectionString, maximum: 4 } as never)).toThrow(invalid("unknown option 'maximum'"));
  expect(() => pgDatabase({ connectionString, max: 0 })).toThrow(invalid('pgDatabase.max'));
});

test('a misspelt option of a replay is refused before anything is asked', async () => {
  const options = { by: 'ada', reason: 'r', dryrun: true };
  const replaying = onefold().replay('shop/evt_1', options);
  await expect(replaying).rejects.toThrow(invalid("replay: unknown option 'dryrun'; did you mean 'dryRun'?"));
});

test('each attempt that may run at once has a connection', () => {
  expect(connectionsOf()).toBe(32);
  expect(connectionsOf({ concurrency: 200 })).toBe(402);
});

test('making a worker opens no ledger, neither its own nor that of its application', () => {
  const application = onefold();
  expect(() => application.worker({ concurrency: 200 })).not.toThrow();
  expect(operationsContext in application).toBe(true);
});

test('a worker whose grace outlasts a lease that was chosen is refused where it is made, with both numbers', () => {
  const source = standardWebhooks('shop', {
    secrets: 'whsec_b25lZm9sZA==',
    events: { 'order.paid': types<unknown>() },
  });
  const effect = source.externalEffect('charge', {
    on: 'order.paid',
    businessKey: perEvent,
    perform: async () => null,
    recovery: park(),
    timeout: '5 seconds',
    lease: '20 seconds',
  });
  const application = createOnefold({ sources: [source], effects: [effect] });
  const message = "worker.shutdownGraceMs: 20000 ms is not below the lease of effect 'charge', 20000 ms";
  expect(() => application.worker({ shutdownGraceMs: 20_000 })).toThrow(invalid(message));
  expect(() => application.worker()).not.toThrow();
});
