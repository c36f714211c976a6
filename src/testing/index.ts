export { type AttemptStep, attemptSteps } from '../effects/attempt-steps.js';
export type { TakenEvent } from '../effects/effect.js';
export type { ClaimRecord } from '../ledger/read-claim.js';
export type { CrashPoint } from './crash-plan.js';
export type { DeliveryAnswer } from './deliver.js';
export type { EffectReport } from './effect-report.js';
export type { EffectOutcomeReport, EventOutcomeReport } from './event-outcome.js';
export type { Counted } from './expect-once.js';
export type { JournalLine } from './journal.js';
export {
  type Misbehaviour,
  type Recipient,
  type RecipientCall,
  type RecipientOptions,
  startRecipient,
  type TakenCall,
} from './recipient.js';
export { startTestDatabase, type TestDatabase, type TestDatabaseOptions } from './start-database.js';
export { startTestKit } from './start-test-kit.js';
export { type EffectTest, type TestEffectOptions, testEffect } from './test-effect.js';
export type { TestEvent, TestEventDetails } from './test-event.js';
export type { KeyOptions, KitEvent, TestKit, TestKitOptions } from './test-kit.js';
export type { EffectCall } from './watch-effect.js';
