import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { DeliveryActivities } from '../../../src/activities/delivery-activities.js';
import { workflowSource } from '../../../src/worker/workflow-source.js';
import type {
  DeliverPublicationInput,
  DeliverPublicationResult,
  DeliveryPolicy,
  EndpointLook,
  RecordDeliveryEndArgument,
  ResponseSummary,
  SendAnswer,
  SendEnd,
  SendFailure,
  SendPublicationArgument,
} from '../../../src/workflows/delivery-contract.js';

/** What a test says of one try: an answer, or a failure by its parts. */
export type Told = SendAnswer | { readonly fails: Partial<SendFailure> };

/** How a delivery went, with times in ms from its first try. */
export interface Went {
  readonly result: DeliverPublicationResult | undefined;
  readonly failure: unknown;
  readonly tries: readonly (SendPublicationArgument & { readonly at: number })[];
  readonly ends: readonly RecordDeliveryEndArgument[];
  readonly recorded: readonly SendEnd[];
  readonly handle: WorkflowHandle;
}

export const response: ResponseSummary = {
  status: 200,
  bytes: 2,
  digest: 'd',
  text: 'ok',
  truncated: false,
  durationMs: 3,
};

/**
 * Delivers one publication in skipped time, on activities that need neither database nor endpoint. Time is skipped for the
 * whole environment, so deliveries run one after the other.
 *
 * @param told What the try of that number comes to, from 1.
 */
export async function runStubbedDelivery(
  environment: TestWorkflowEnvironment,
  policy: DeliveryPolicy,
  told: (tries: number, handle: WorkflowHandle) => Promise<Told> | Told,
  more: {
    readonly input?: Partial<DeliverPublicationInput> | Record<string, unknown>;
    readonly look?: () => EndpointLook;
    readonly delivered?: boolean;
    readonly meanwhile?: (handle: WorkflowHandle) => Promise<void>;
  } = {},
): Promise<Went> {
  const taskQueue = `stubbed-${randomUUID()}`;
  const publication = `order:${randomUUID()}`;
  const workflowId = `publication//ep_1/${publication}`;
  const handle = environment.client.workflow.getHandle(workflowId);
  const tries: (SendPublicationArgument & { at: number })[] = [];
  const ends: RecordDeliveryEndArgument[] = [];
  const recorded: SendEnd[] = [];
  const activities: DeliveryActivities = {
    sendPublication: async (argument) => {
      tries.push({ ...argument, at: await environment.currentTimeMs() });
      const answer = await told(tries.length, handle);
      if (!('fails' in answer)) return answer;
      const detail: SendFailure = {
        code: 'http_503',
        message: 'HTTP 503',
        permanent: false,
        counted: true,
        policy,
        ...answer.fails,
      };
      throw ApplicationFailure.create({ type: detail.code, message: detail.message, details: [detail] });
    },
    recordSend: async (end) => void recorded.push(end),
    lookAtEndpoint: async () => more.look?.() ?? { state: 'enabled', policy },
    recordDeliveryEnd: async (argument) => {
      ends.push(argument);
      return { delivered: more.delivered ?? false };
    },
    wasActCarriedOut: async () => false,
  };
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue,
    workflowBundle: await workflowSource(),
    activities,
    sinks: { onefold: { line: { fn() {}, callDuringReplay: false } } },
  });
  const input: DeliverPublicationInput = {
    version: 1,
    tenant: '',
    endpoint: 'ep_1',
    publication,
    eventId: 'msg_1',
    type: 'order.confirmed',
    publishedAt: new Date(await environment.currentTimeMs()).toISOString(),
    policy,
    searchAttributes: [],
    ...more.input,
  };
  return worker.runUntil(async () => {
    await environment.client.workflow.start('deliverPublication', { workflowId, taskQueue, args: [input] });
    const meanwhile = more.meanwhile?.(handle);
    let failure: unknown;
    const result = await handle.result().catch((error: unknown) => {
      failure = error;
      return undefined;
    });
    await meanwhile;
    const first = tries[0]?.at ?? 0;
    return {
      result: result as DeliverPublicationResult | undefined,
      failure,
      tries: tries.map((one) => ({ ...one, at: one.at - first })),
      ends,
      recorded,
      handle,
    };
  });
}
