import { AssertionError } from 'node:assert';
import { type AttemptStep, AttemptVanished } from '../effects/attempt-steps.js';
import { createCatalogue, ledgerNames } from '../effects/catalogue.js';
import type { Effect, RegisteredTx } from '../effects/effect.js';
import type { AttemptNotice, ExternalAttemptEnd } from '../effects/external-attempt.js';
import { planEvent } from '../effects/plan-event.js';
import { OnefoldError } from '../errors.js';
import { eventKey } from '../identity/event-identity.js';
import type { Ledger } from '../ledger/ledger.js';
import { parkUnknown } from '../ledger/park-unknown.js';
import { sha256 } from '../runtime/sha256.js';
import type { Source } from '../sources/define-source.js';
import type {
  FailureDetail,
  PlannedEffect,
  PlannedEvent,
  ProcessEventInput,
  StoredResult,
} from '../workflows/contract.js';
import { carryInProcess } from './carry-in-process.js';
import { checkLedger } from './check-ledger.js';
import { type EffectReport, readStoredResult } from './effect-report.js';
import { crashStep, type EffectCall, watchEffect } from './watch-effect.js';

/** What is driven. */
export interface DriverSettings {
  readonly ledger: Ledger<RegisteredTx>;
  readonly source: Source;
  readonly effect: Effect;
  readonly input: ProcessEventInput;
}

/** What the event's workflow would hold of it. */
export interface Planned {
  readonly plan: PlannedEvent;
  readonly planned: PlannedEffect;
}

/** Stands in for the event's workflow: it knows the plan, counts the attempts, and decides after each. */
export class EffectDriver {
  readonly #settings: DriverSettings;
  readonly #eventKey: string;
  #current: Planned | undefined;
  #attempts = 0;
  /** Attempts before it was parked, which the budget does not count. */
  #forgiven = 0;

  constructor(settings: DriverSettings) {
    this.#settings = settings;
    this.#eventKey = eventKey(settings.input, sha256);
  }

  /** The plan of the run that is under way; after its end, that of a new one. */
  async plan(): Promise<Planned> {
    if (this.#current) return this.#current;
    const { ledger, source, effect, input } = this.#settings;
    await checkLedger(ledger);
    const catalogue = createCatalogue([source], [effect]);
    const answer = await planEvent({ catalogue, ledger, searchAttributes: [] }, this.#eventKey, input);
    const planned = answer.kind === 'planned' ? answer.plan.effects[0] : undefined;
    if (answer.kind !== 'planned' || !planned) throw new Error(`'${effect.name}' was not planned for ${input.id}`);
    this.#attempts = 0;
    this.#forgiven = 0;
    this.#current = { plan: answer.plan, planned };
    return this.#current;
  }

  /** Carries attempts until the effect has ended, is parked, or can only wait. */
  async run(): Promise<EffectReport> {
    const seen: Seen = { calls: [], notices: [] };
    let by: Planned;
    try {
      by = await this.plan();
    } catch (error) {
      if (!(error instanceof OnefoldError) || !planningCodes.has(error.code)) throw error;
      return { outcome: 'failed', attempts: 0, ...told(seen), code: error.code, message: error.message, error };
    }
    const { ended } = by.planned;
    let decided: Decided | undefined = ended && {
      outcome: ended.outcome === 'stale' || ended.outcome === 'observed' ? ended.outcome : 'already_done',
      ...(ended.doneBy === undefined ? {} : { doneBy: ended.doneBy }),
      ...(await this.#resultOf(by, ended.result)),
    };
    while (!decided) decided = await this.#decide(by, await this.#attempt(by, seen));
    if (decided.outcome !== 'parked' && decided.outcome !== 'waiting') this.#current = undefined;
    return { businessKey: by.planned.businessKey, attempts: this.#attempts, ...told(seen), ...decided };
  }

  /**
   * Carries one attempt that dies at a step.
   *
   * @throws {AssertionError} Where it ends before.
   */
  async crash(at: AttemptStep): Promise<void> {
    const { effect } = this.#settings;
    const by = await this.plan();
    // A local write that has committed and then died told nobody, and that is all there is to it.
    const unheard = effect.kind === 'local' && at === 'after_completion';
    const seen: Seen = { calls: [], notices: [] };
    let end: ExternalAttemptEnd | undefined;
    try {
      end = await this.#attempt(by, seen, unheard ? undefined : crashStep(effect, at));
    } catch (error) {
      if (!(error instanceof AttemptVanished)) throw error;
    }
    if (end && !(unheard && end.kind === 'ended')) {
      throw new AssertionError({ message: `the attempt did not come to '${at}': ${endInWords(end)}` });
    }
    this.#attempts += 1;
  }

  #attempt(by: Planned, seen: Seen, dieAt?: AttemptStep): Promise<ExternalAttemptEnd> {
    const { effect, ...settings } = this.#settings;
    const dieHere = (step: AttemptStep): void => {
      if (step === dieAt) throw new AttemptVanished(step);
    };
    return carryInProcess({
      ...settings,
      ...by,
      effect: watchEffect(effect, { onCall: (call) => void seen.calls.push(call), onLocalStep: dieHere }),
      eventKey: this.#eventKey,
      attempt: this.#attempts + 1,
      onStep: dieHere,
      onNotice: (notice) => void seen.notices.push(notice),
    });
  }

  /** What an attempt comes to, or undefined where another one follows after a pause. */
  async #decide(by: Planned, end: ExternalAttemptEnd): Promise<Decided | undefined> {
    if (end.kind === 'failed') return this.#decideFailed(by, end.detail, end.thrown);
    this.#attempts += 1;
    if (end.kind === 'parked') {
      this.#forgiven = this.#attempts;
      return { outcome: 'parked', code: 'effect_parked', message: end.message };
    }
    const { kind: _kind, fence: _fence, result, ...rest } = end;
    return { ...rest, ...(await this.#resultOf(by, result)) };
  }

  async #decideFailed(by: Planned, detail: FailureDetail, thrown: unknown): Promise<Decided | undefined> {
    const { code, message, counted, permanent, outcomeUnknown } = detail;
    // The test's own set-up is at fault, and no outcome of the effect would say so.
    if (code === 'ledger_unavailable') throw thrown;
    const why = { code, message, ...(thrown === undefined ? {} : { error: thrown }) };
    if (counted) this.#attempts += 1;
    else if (!permanent) return { outcome: 'waiting', ...why };
    const { policy, external, businessKey } = by.planned;
    // Where the recipient can be asked, no failure is the last word on what is unknown.
    const isLast = permanent && !(outcomeUnknown && external?.recovery === 'reconcile');
    if (!isLast && this.#attempts - this.#forgiven < policy.maximumAttempts) return undefined;
    if (!external || external.recovery === 'forwardsKey') return { outcome: 'failed', ...why };
    const { ledger, effect, input } = this.#settings;
    const identity = { tenant: input.tenant, names: ledgerNames(effect), businessKey };
    const { state } = await parkUnknown(ledger.database.query, ledger.schema, identity);
    if (state === 'leased') return { outcome: 'waiting', ...why };
    if (state !== 'parked') return { outcome: 'failed', ...why };
    this.#forgiven = this.#attempts;
    return { outcome: 'parked', ...why };
  }

  #resultOf({ planned: { businessKey } }: Planned, stored: StoredResult | undefined) {
    const { ledger, effect, input } = this.#settings;
    return readStoredResult(ledger, effect, { tenant: input.tenant, businessKey }, stored);
  }
}

/** What is reported beside the numbers. */
type Decided = Pick<EffectReport, 'outcome'> & Partial<EffectReport>;

interface Seen {
  readonly calls: EffectCall[];
  readonly notices: AttemptNotice[];
}

/** Codes by which a plan fails because of the event or the effect's own functions. */
const planningCodes: ReadonlySet<string> = new Set(['data_invalid', 'business_key_invalid', 'planning_failed']);

function told({ calls, notices }: Seen): Pick<EffectReport, 'calls' | 'idempotencyKeys' | 'recoveries'> {
  return {
    calls: calls.length,
    idempotencyKeys: calls.flatMap(({ idempotencyKey }) => idempotencyKey ?? []),
    recoveries: notices.flatMap((notice) => (notice.kind === 'recovering' ? notice.recovery : [])),
  };
}

function endInWords(end: ExternalAttemptEnd): string {
  switch (end.kind) {
    case 'ended':
      return `it ended as ${end.outcome}${end.doneBy === undefined ? '' : `, by ${end.doneBy}`}`;
    case 'parked':
      return `it is parked: ${end.message}`;
    case 'failed':
      return `${end.detail.code}: ${end.detail.message}`;
  }
}
