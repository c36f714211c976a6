import type { AttemptAtStep, AttemptStep } from '../effects/attempt-steps.js';
import type { RegisteredTx } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import { schemaName } from '../ledger/schema-name.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { createCrashPlan } from './crash-plan.js';
import { createKit } from './create-kit.js';
import { createJournal } from './journal.js';
import { type KitApp, startKitApp } from './kit-app.js';
import { passTime } from './pass-time.js';
import { databaseOptionNames, startTestDatabase, toStandardError } from './start-database.js';
import { type Stop, stopAll } from './stop-all.js';
import type { TestKit, TestKitOptions } from './test-kit.js';
import { type EffectCall, watchEffect } from './watch-effect.js';

const ownOptions = ['sources', 'effects', 'timeSkippingServer'];

/**
 * Starts the test kit. Once per test file: it takes a few seconds, and its time is one for all events in it, so that tests
 * which wait for outcomes run one after the other.
 *
 * @throws {OnefoldError} `embedded_unavailable`, `ledger_unavailable`, `config_invalid`.
 */
export async function startTestKit(options: TestKitOptions): Promise<TestKit> {
  refuseUnknownOptions(options, [...databaseOptionNames, ...ownOptions], 'startTestKit');
  const { sources, effects, timeSkippingServer, ...databaseOptions } = options;
  const stops: Stop[] = [];
  const journal = createJournal();
  const crashes = createCrashPlan(journal);
  const calls: EffectCall[] = [];
  let app: KitApp;
  try {
    const database = await startTestDatabase(databaseOptions);
    stops.push(() => database.stop());
    const ledger: Ledger<RegisteredTx> = { database: database.db, schema: schemaName(database.schema) };
    const onStep = async (step: AttemptStep, attempt: AttemptAtStep): Promise<void> => {
      if (step === 'before_claim') await followTime(app, ledger);
      crashes.strike(step, attempt);
    };
    const onCall = (call: EffectCall): void => void calls.push(call);
    const start = (): Promise<KitApp> =>
      startKitApp({
        sources,
        effects: effects.map((effect) => watchEffect(effect, { onCall, onLocalStep: onStep })),
        database: database.db,
        schema: database.schema,
        timeSkippingServer,
        log: journal.log,
        onStep,
        progress: options.progress ?? toStandardError,
      });
    app = await start();
    stops.push(() => app.stop());
    return createKit({
      sources,
      effects,
      url: database.url,
      ledger,
      journal,
      crashes,
      calls,
      app: () => app,
      async restart() {
        await app.stop();
        app = await start();
      },
      stop: () => stopAll(stops),
    });
  } catch (error) {
    await stopAll(stops);
    throw error;
  }
}

/** Where Temporal has skipped time, lets the ledger pass it too: its leases would outlast pauses that were longer. */
async function followTime(app: KitApp, { database, schema }: Ledger): Promise<void> {
  const skippedMs = await app.time.newlySkippedMs();
  if (skippedMs > 0) await passTime(database.query, schema, skippedMs);
}
