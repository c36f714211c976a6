import { AssertionError } from 'node:assert';
import { ledgerNames } from '../effects/catalogue.js';
import type { Effect, RegisteredTx } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import type { ClaimIdentity } from '../ledger/read-claim.js';
import type { Source } from '../sources/define-source.js';
import type { CrashPlan } from './crash-plan.js';
import { expectOnce } from './expect-once.js';
import type { Journal } from './journal.js';
import type { KitApp } from './kit-app.js';
import { createKitEvent } from './kit-event.js';
import { passLease } from './pass-time.js';
import type { KeyOptions, TestKit } from './test-kit.js';
import type { EffectCall } from './watch-effect.js';

/** What a kit is made of, all of it started. */
export interface KitParts {
  readonly sources: readonly Source[];
  readonly effects: readonly Effect[];
  readonly url: string;
  readonly ledger: Ledger<RegisteredTx>;
  readonly journal: Journal;
  readonly crashes: CrashPlan;
  readonly calls: readonly EffectCall[];
  /** The application that runs now. */
  app(): KitApp;
  /** Puts a Temporal that knows nothing in the place of the one that runs, and a new application on it. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Makes the kit as tests see it. */
export function createKit(parts: KitParts): TestKit {
  const { sources, effects, ledger, journal, crashes, calls } = parts;
  const known = (effect: Effect): Effect => {
    if (effects.some(({ name }) => name === effect.name)) return effect;
    throw new TypeError(`the kit was started without the effect '${effect.name}'`);
  };
  const claimed = (effect: Effect, businessKey: string, { tenant = '' }: KeyOptions = {}): ClaimIdentity => ({
    tenant,
    names: ledgerNames(known(effect)),
    businessKey,
  });
  return {
    url: parts.url,
    db: ledger.database,
    get onefold() {
      return parts.app().onefold;
    },
    lines: journal.lines,
    calls,
    event(source, event) {
      const own = sources.find(({ name }) => name === source.name);
      if (!own) throw new TypeError(`the kit was started without the source '${source.name}'`);
      return createKitEvent(parts, own, event);
    },
    crash: (effect, point) => crashes.add(known(effect), point),
    async loseLease(effect, businessKey, options) {
      const of = claimed(effect, businessKey, options);
      if (await passLease(ledger.database.query, ledger.schema, of)) return;
      const story = journal.storyOf({ effect: effect.name, businessKey });
      const held = `no attempt at '${effect.name}' holds a lease under ${JSON.stringify(businessKey)}`;
      throw new AssertionError({ message: `${held}\n${story}` });
    },
    async resolve(effect, businessKey, verdict, options) {
      const { tenant } = claimed(effect, businessKey, options);
      const act = { tenant, by: 'test kit', reason: 'the test says so' };
      return parts.app().onefold.resolve(effect.name, businessKey, { ...verdict, ...act });
    },
    forgetHistories: () => parts.restart(),
    async expectOnce(effect, businessKey, counted, options) {
      const { tenant } = claimed(effect, businessKey, options);
      const made = calls.filter((call) => call.effect === effect.name && call.businessKey === businessKey);
      await expectOnce({ ledger, effect, tenant, businessKey, calls: made, journal }, counted);
    },
    async stop() {
      await parts.stop();
      crashes.assertSpent();
    },
  };
}
