import { randomUUID } from 'node:crypto';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { Activities } from '../../../src/activities/index.js';
import { workflowSource } from '../../../src/worker/workflow-source.js';
import type { PlannedEffect, ProcessEventInput, ProcessEventResult } from '../../../src/workflows/contract.js';

/**
 * Runs one event with one effect in skipped time, on activities that need no database. Time is skipped for the whole
 * environment, so events run one after the other.
 *
 * @param planned What the plan says of the effect; its business key is the event's id.
 * @param activities What the test answers in the place of the others.
 * @returns The result, or undefined where the workflow failed.
 */
export async function runStubbed(
  environment: TestWorkflowEnvironment,
  id: string,
  planned: Omit<PlannedEffect, 'businessKey' | 'indexedKey' | 'localFirst'>,
  activities: Partial<Activities>,
): Promise<ProcessEventResult | undefined> {
  const taskQueue = `stubbed-${randomUUID()}`;
  const effect: PlannedEffect = { ...planned, businessKey: id, indexedKey: id, localFirst: false };
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue,
    workflowBundle: await workflowSource(),
    activities: {
      planEvent: async () => ({ kind: 'planned', plan: { effects: [effect], searchAttributes: [] } }),
      ...activities,
    },
    sinks: { onefold: { line: { fn() {}, callDuringReplay: false } } },
  });
  const input: ProcessEventInput = {
    version: 1,
    tenant: '',
    source: 'shop',
    id,
    type: 'order.paid',
    digest: 'digest',
    receivedAt: '2026-01-01T00:00:00.000Z',
    payload: { text: '{}' },
    effects: [effect.effect],
  };
  return worker.runUntil(async () => {
    const running = environment.client.workflow.execute('processEvent', {
      workflowId: `event//shop/${id}`,
      taskQueue,
      args: [input],
    });
    return (await running.catch(() => undefined)) as ProcessEventResult | undefined;
  });
}
