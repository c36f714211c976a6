import { inject } from 'vitest';
import { type AttemptStep, attemptSteps } from '../../../src/effects/attempt-steps.js';
import type { OperationsContext } from '../../../src/operations/context.js';
import { replayEvent } from '../../../src/operations/replay-event.js';
import type { StartDecision } from '../../../src/receiver/start-decision.js';
import { temporalCli } from '../../hazards/support/temporal-cli.js';
import { until } from '../../hazards/support/until.js';
import { createHarness, type Harness, resultOf, type TestEvent } from '../../setup/harness.js';
import {
  type CarriedEvent,
  carriedEvent,
  deliver,
  judge,
  operationsOf,
  type Partners,
  resolveByTruth,
  untilSettled,
  type Verdict,
} from './carried-event.js';
import { carrierEffects, labelsTable, recoveries } from './carrier.js';
import { type HeldWorker, startHeldWorker } from './held-worker.js';

/** What happens to the worker at the step. */
export type Fault = 'killed' | 'frozen';

/** What else happens to the event while its attempt is gone. */
export const aftermaths = ['redelivery', 'replay', 'reset', 'terminate and redelivery'] as const;

export type Aftermath = (typeof aftermaths)[number];

/** What became of one scenario. */
export interface ScenarioVerdict extends Verdict {
  /** What a delivery after everything was to its event. */
  readonly afterwards: StartDecision['path'];
  /** What the attempt came back with that was written down as superseded, where one was. */
  readonly zombie: string | undefined;
  /** Calls that the partner got after the frozen worker woke, everything having been settled before. */
  readonly callsAfterWaking: number;
}

/** An attempt that is gone at a step, and what else happens to its event meanwhile. */
export interface Scenario extends CarriedEvent {
  readonly step: AttemptStep;
  readonly aftermath: Aftermath;
}

/** Every step, each recovery, each aftermath. */
export const combinations = attemptSteps.flatMap((step) =>
  recoveries.flatMap((recovery) => aftermaths.map((aftermath) => ({ step, recovery, aftermath }))),
);

export type Combination = (typeof combinations)[number];

export function nameOf({ step, recovery, aftermath }: Combination): string {
  return `${step}, ${recovery}, ${aftermath}`;
}

/** More than the attempts that are halted at once. */
const concurrency = combinations.length + 8;

/**
 * Carries an event for every combination in one worker which halts each of them at its step; kills or freezes it when all
 * have come there; lets another worker finish; wakes the frozen one when everything is settled; and lets a person resolve
 * what is parked by what the partner really did.
 *
 * @returns Verdicts by {@link nameOf}.
 */
export async function runFaultMatrix(fault: Fault, partners: Partners): Promise<ReadonlyMap<string, ScenarioVerdict>> {
  const urls = { forwardsKey: partners.forwardsKey.url, reconcile: partners.reconcile.url, park: partners.park.url };
  const configuration = carrierEffects(urls);
  const harness = await createHarness(configuration, { worker: false, setup: labelsTable });
  try {
    const context = operationsOf(harness, configuration);
    const scenarios = combinations.map((one) => ({ ...carriedEvent(nameOf(one), one.recovery, one.step), ...one }));
    const doomed = await startHeldWorker({
      address: inject('temporalAddress'),
      taskQueue: harness.taskQueue,
      databaseUrl: harness.databaseUrl,
      partners: urls,
      concurrency,
    });
    for (const { event } of scenarios) await deliver(harness, event, 'first_run');
    await until(`${scenarios.length} attempts at their steps`, () => doomed.held.size === scenarios.length, 120_000);

    if (fault === 'killed') await doomed.kill();
    else doomed.freeze();
    for (const scenario of scenarios) await suffer(harness, context, scenario);
    await harness.worker();
    const parked = await untilSettled(harness, scenarios);
    const before = new Map(scenarios.map((scenario) => [scenario.name, callsOf(partners, scenario)]));
    if (fault === 'frozen') await wake(doomed, scenarios, harness);
    const after = new Map(scenarios.map((scenario) => [scenario.name, callsOf(partners, scenario)]));
    for (const scenario of scenarios) if (parked.has(scenario.name)) await resolveByTruth(context, partners, scenario);

    const judged = scenarios.map(async (scenario): Promise<[string, ScenarioVerdict]> => {
      const { name, event } = scenario;
      const handle = harness.client.workflow.getHandle(harness.key(event));
      if (!isTerminatedForGood(scenario)) await resultOf(handle);
      const afterwards = await deliver(harness, event);
      await resultOf(handle);
      const verdict = {
        ...(await judge(harness, partners, scenario)),
        parked: parked.has(name),
        afterwards,
        zombie: await zombieOf(harness, event),
        callsAfterWaking: (after.get(name) ?? 0) - (before.get(name) ?? 0),
      };
      return [name, verdict];
    });
    return new Map(await Promise.all(judged));
  } finally {
    await harness.close();
  }
}

/** Terminated when everything was done, so that a replay finds nothing to do, and no run stands for it until a delivery. */
export function isTerminatedForGood({ step, aftermath }: Combination): boolean {
  return step === 'after_completion' && aftermath === 'replay';
}

/** Does to the event what the scenario says, while nobody knows what became of its attempt. */
async function suffer(harness: Harness, context: OperationsContext, scenario: Scenario): Promise<void> {
  const { aftermath, event } = scenario;
  const handle = harness.client.workflow.getHandle(harness.key(event));
  switch (aftermath) {
    case 'redelivery':
      await deliver(harness, event, 'in_progress_elsewhere');
      return;
    case 'replay': {
      await handle.terminate('a fault was injected');
      const by = { by: 'a test', reason: 'a fault was injected' };
      const { outcome } = await replayEvent(context, `${event.source}/${event.id}`, by);
      const expected = isTerminatedForGood(scenario) ? 'nothing_to_do' : 'started';
      if (outcome !== expected) throw new Error(`the replay was ${outcome}, expected ${expected}`);
      return;
    }
    case 'reset': {
      const reset = await temporalCli([
        ...['workflow', 'reset', '-w', handle.workflowId, '--type', 'FirstWorkflowTask'],
        ...['--reason', 'a fault was injected', '--reapply-exclude', 'All'],
      ]);
      if (!reset.ok) throw new Error(`the reset failed: ${reset.text}`);
      return;
    }
    case 'terminate and redelivery':
      await handle.terminate('a fault was injected');
      await deliver(harness, event, 'retry_after_failure');
      return;
  }
}

/** Lets the frozen worker go on, until each of its attempts has said how it ended; then lets it end in order. */
async function wake(doomed: HeldWorker, scenarios: readonly Scenario[], harness: Harness): Promise<void> {
  const already = doomed.lines.length;
  doomed.wake();
  const ended = (): Set<unknown> =>
    new Set(
      doomed.lines
        .slice(already)
        .filter(({ msg }) => msg.startsWith('effect.'))
        .map(({ eventKey }) => eventKey),
    );
  await until('the word of each attempt that was frozen', () => {
    const heard = ended();
    return scenarios.every(({ event }) => heard.has(harness.key(event)));
  });
  await doomed.stop();
}

async function zombieOf(harness: Harness, event: TestEvent): Promise<string | undefined> {
  const rows = await harness.sql<{ ended: string }>(
    'SELECT ended FROM onefold.superseded_attempts WHERE event_key = $1',
    [harness.key(event)],
  );
  return rows.length === 0 ? undefined : rows.map(({ ended }) => ended).join(', ');
}

function callsOf(partners: Partners, { recovery, businessKey }: Scenario): number {
  return partners[recovery].calls(businessKey);
}
