import type { Effect, RegisteredTx, TakenFrom } from '../effects/effect.js';
import type { Database } from '../ledger/database.js';
import type { Onefold } from '../onefold.js';
import type { ReplayOptions, ReplayOutcome } from '../operations/replay-event.js';
import type { ResolveOutcome, ResolveVerdict } from '../operations/resolve-effect.js';
import type { Source } from '../sources/define-source.js';
import type { EventSchemas } from '../sources/source.js';
import type { CrashPoint } from './crash-plan.js';
import type { DeliveryAnswer } from './deliver.js';
import type { EventOutcomeReport } from './event-outcome.js';
import type { Counted } from './expect-once.js';
import type { JournalLine } from './journal.js';
import type { TestDatabaseOptions } from './start-database.js';
import type { TestEvent } from './test-event.js';
import type { EffectCall } from './watch-effect.js';

/** Options of `startTestKit`; where its PostgreSQL comes from is up to those of `startTestDatabase`. */
export interface TestKitOptions extends TestDatabaseOptions {
  readonly sources: readonly Source<any, any>[];
  readonly effects: readonly Effect[];
  /** Path of Temporal's time-skipping test server. Default: it is found, or downloaded once. */
  readonly timeSkippingServer?: string;
}

/** One business identity. */
export interface KeyOptions {
  /** Default ''. */
  readonly tenant?: string;
}

/** An event on its way through the kit. */
export interface KitEvent {
  /** `source/event-id`. */
  readonly event: string;
  readonly id: string;
  /** Hands one delivery to the receiver, signed as its provider signs; the same event in every delivery. */
  deliver(): Promise<DeliveryAnswer>;
  /** The same, so many times at once. */
  deliverAtOnce(times: number): Promise<readonly DeliveryAnswer[]>;
  /**
   * Waits until the event has ended or is parked, skipping the time of every pause. Ledger and Temporal pass it together:
   * leases run out, what was sent settles, keys grow old.
   *
   * @param withinMs Of real time. Default 20,000.
   * @throws {AssertionError} With the story of the event, where it takes longer.
   */
  outcome(withinMs?: number): Promise<EventOutcomeReport>;
  /** Runs it again, as `onefold replay` does. */
  replay(options?: Partial<ReplayOptions>): Promise<ReplayOutcome>;
  /** Ends its workflow from outside, as an operator can, in the next pause between its attempts. */
  terminate(): Promise<void>;
}

/** A receiver and a worker of your code, on a Temporal that skips time and a real PostgreSQL, all in this process. */
export interface TestKit {
  readonly url: string;
  readonly db: Database<RegisteredTx>;
  /** The application under test. Another one after {@link forgetHistories}. */
  readonly onefold: Onefold;
  /** What receiver and worker have logged. */
  readonly lines: readonly JournalLine[];
  /** Every call of `perform`, and of a local write's `commit`. */
  readonly calls: readonly EffectCall[];
  /** Makes an event of a source; nothing is sent yet. */
  event<Events extends EventSchemas, Type extends keyof Events & string>(
    source: Source<string, Events>,
    event: TestEvent<TakenFrom<Events, Type>>,
  ): KitEvent;
  /** The worker dies at a step of an attempt: it writes nothing more. What then stands is what the next one finds. */
  crash(effect: Effect, point: CrashPoint): void;
  /** Ends the lease under an attempt that still runs: the next one takes over, and this one comes back as a zombie. */
  loseLease(effect: Effect, businessKey: string, options?: KeyOptions): Promise<void>;
  /** Says what became of a parked effect, as `onefold resolve` does. */
  resolve(effect: Effect, businessKey: string, verdict: ResolveVerdict, options?: KeyOptions): Promise<ResolveOutcome>;
  /**
   * Temporal forgets every event, as it does at the end of the retention: only the ledger remembers. Events that still run
   * are lost with it.
   */
  forgetHistories(): Promise<void>;
  /**
   * Asserts that an effect is done, and that whoever counts it has counted one: rows of your table, effects of a recipient.
   *
   * @throws {AssertionError} With every attempt that there was.
   */
  expectOnce(effect: Effect, businessKey: string, counted?: Counted, options?: KeyOptions): Promise<void>;
  /**
   * Ends everything that was started.
   *
   * @throws {AssertionError} Where a crash was asked for and never happened.
   */
  stop(): Promise<void>;
}
