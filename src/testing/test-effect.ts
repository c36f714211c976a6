import type { AttemptStep } from '../effects/attempt-steps.js';
import { ledgerNames } from '../effects/catalogue.js';
import type { Effect, ExternalEffect, LocalEffect, RegisteredTx, TakenEvent } from '../effects/effect.js';
import { displayEvent } from '../identity/event-identity.js';
import type { Database } from '../ledger/database.js';
import { type ClaimIdentity, type ClaimRecord, readClaim } from '../ledger/read-claim.js';
import { defaultSchema, schemaName } from '../ledger/schema-name.js';
import type { ResolveVerdict } from '../operations/resolve-effect.js';
import { durationMs } from '../runtime/duration.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { sha256 } from '../runtime/sha256.js';
import type { Source } from '../sources/define-source.js';
import type { ProcessEventInput } from '../workflows/contract.js';
import { EffectDriver } from './effect-driver.js';
import type { EffectReport } from './effect-report.js';
import { passLease, passTime } from './pass-time.js';
import { resolveAlone } from './resolve-alone.js';
import { sourceOf } from './source-of.js';
import { eventText, freshEventId, type TestEvent } from './test-event.js';

/** What {@link testEffect} needs. */
export interface TestEffectOptions {
  /** A database with a migrated ledger, such as that of `startTestDatabase()`. */
  readonly db: Database<RegisteredTx>;
  /** The ledger's schema. Default 'onefold'. */
  readonly schema?: string;
  /** Default ''. */
  readonly tenant?: string;
}

/** One event and one effect of it, driven by hand. */
export interface EffectTest<Takes extends TakenEvent = TakenEvent> {
  /** `source/event-id`. */
  readonly event: string;
  /**
   * Plans the event and carries attempts, as its workflow would, until the effect has ended, is parked, or can only wait.
   * Pauses between attempts are left out. After a crash it goes on where the workflow would; after an end it is the same
   * event coming again.
   */
  run(): Promise<EffectReport>;
  /**
   * Carries one attempt, which dies at a step: it writes nothing more, and its lease stands. A local write has no lease, and
   * its steps are one transaction: nothing of it is left.
   *
   * @throws {AssertionError} Where the attempt ends before it comes to that step.
   */
  crash(at: AttemptStep): Promise<void>;
  /** The same happening under another event id, and with other data where given. */
  another(event?: Partial<TestEvent<Takes>>): EffectTest<Takes>;
  /** Lets time pass for the ledger's claim: its lease, what may be under way, the age of its key. */
  passTime(duration: string | number): Promise<void>;
  /** Lets just the time pass after which the lease of a crashed attempt is over. */
  expireLease(): Promise<void>;
  /** The same, and the recovery's `settleAfter`: whatever an earlier attempt had sent has arrived. */
  settle(): Promise<void>;
  /** Says what became of a parked effect, as `onefold resolve` does. */
  resolve(verdict: ResolveVerdict): Promise<void>;
  /** What the ledger has of the business identity; undefined where it was never claimed. */
  claim(): Promise<ClaimRecord | undefined>;
}

/**
 * Tests one effect against a real ledger, in milliseconds and without Temporal, by the functions that a worker uses.
 *
 * @example
 * ```ts
 * const charge = testEffect(chargeCard, { type: 'order.paid', data: { order: '42', amount: 1200 } }, { db });
 * await charge.crash('after_call');
 * await charge.expireLease();
 * assert.equal((await charge.run()).outcome, 'done');
 * ```
 * @throws {TypeError} For what is no effect, or a type that it does not act on.
 */
export function testEffect<Takes extends TakenEvent>(
  effect: LocalEffect<Takes> | ExternalEffect<Takes>,
  event: NoInfer<TestEvent<Takes>>,
  options: TestEffectOptions,
): EffectTest<Takes> {
  refuseUnknownOptions(options, ['db', 'schema', 'tenant'], 'testEffect');
  const source = sourceOf(effect);
  if (!effect.on.includes(event.type)) {
    throw new TypeError(`'${effect.name}' acts on ${effect.on.join(', ')}, and not on '${event.type}'`);
  }
  const { tenant = '' } = options;
  const ledger = { database: options.db, schema: schemaName(options.schema ?? defaultSchema) };
  const named = { ...event, id: event.id ?? freshEventId() };
  const driver = new EffectDriver({ ledger, source, effect, input: inputOf(source, effect, named, tenant) });
  const claimed = async (): Promise<ClaimIdentity> => {
    const { businessKey } = (await driver.plan()).planned;
    return { tenant, names: ledgerNames(effect), businessKey };
  };
  const { query } = ledger.database;
  const { schema } = ledger;
  const pass = async (ms: number): Promise<void> => passTime(query, schema, ms, await claimed());
  const expireLease = async (): Promise<void> => void (await passLease(query, schema, await claimed()));
  return {
    event: displayEvent({ source: source.name, id: named.id }),
    run: () => driver.run(),
    crash: (at) => driver.crash(at),
    another: (other = {}) =>
      testEffect(effect, { ...event, id: freshEventId(), ...other } as NoInfer<TestEvent<Takes>>, options),
    passTime: (duration) => pass(durationMs(duration, 'passTime')),
    expireLease,
    async settle() {
      await expireLease();
      const recovery = effect.kind === 'external' ? effect.recovery : undefined;
      if (recovery && 'settleAfterMs' in recovery) await pass(recovery.settleAfterMs);
    },
    resolve: async (verdict) => resolveAlone({ ledger, source, effect, ...(await claimed()) }, verdict),
    claim: async () => readClaim(query, schema, await claimed()),
  };
}

function inputOf(source: Source, effect: Effect, event: TestEvent & { id: string }, tenant: string): ProcessEventInput {
  const text = eventText(source, event);
  return {
    version: 1,
    tenant,
    source: source.name,
    id: event.id,
    type: event.type,
    digest: sha256(text),
    receivedAt: new Date().toISOString(),
    ...(event.occurredAt === undefined ? {} : { occurredAt: event.occurredAt.toISOString() }),
    payload: { text },
    effects: [effect.name],
  };
}
