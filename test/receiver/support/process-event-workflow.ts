import { ApplicationFailure, condition, defineSignal, setHandler } from '@temporalio/workflow';
import type { ProcessEventInput, ProcessEventResult } from '../../../src/workflows/contract.js';

/** What the data of a test event tell the workflow to do. */
export interface Script {
  readonly do?: 'complete' | 'fail' | 'wait' | 'abandon' | 'answer';
  /** With 'answer': the workflow's result, whatever it is. */
  readonly answer?: unknown;
  /** JSON text of the effect's result. */
  readonly json?: string;
}

/** Stands in for the real workflow, so that the receiver's tests choose how an event goes on and how it ends. */
export async function processEvent(input: ProcessEventInput): Promise<unknown> {
  let released = false;
  setHandler(defineSignal('release'), () => {
    released = true;
  });
  const script: Script = 'text' in input.payload ? ((JSON.parse(input.payload.text).data as Script | null) ?? {}) : {};
  if (script.do === 'wait') await condition(() => released);
  if (script.do === 'fail') throw ApplicationFailure.nonRetryable('the partner is closed', 'budget_spent');
  if (script.do === 'answer') return script.answer;
  const json = script.json ?? '{"shipment":"s-1"}';
  return {
    version: 1,
    event: `${input.source}/${input.id}`,
    outcome: script.do === 'abandon' ? 'abandoned' : 'done',
    effects: input.effects.map((effect) => ({
      effect,
      businessKey: `key:${input.id}`,
      outcome: 'done' as const,
      attempts: 1,
      fence: 1,
      result: { json },
    })),
  } satisfies ProcessEventResult;
}
