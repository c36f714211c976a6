import type { WorkflowStartOptions } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import { publicationKey } from '../identity/publication-identity.js';
import { searchAttributeNames } from '../workflows/contract.js';
import {
  type DeliverPublicationInput,
  type DeliverPublicationResult,
  type DeliveryMemo,
  deliveryTaskQueue,
} from '../workflows/delivery-contract.js';
import { cutBytes } from './indexed-text.js';
import { keywordAttributes } from './keyword-attributes.js';
import { sha256 } from './sha256.js';

/** The workflow of a delivery as a client starts it. */
export type DeliverPublication = (input: DeliverPublicationInput) => Promise<DeliverPublicationResult>;

/** Everything of a start but its policies, which stand at the call. */
export type DeliveryStartOptions = Omit<
  WorkflowStartOptions<DeliverPublication>,
  'workflowIdReusePolicy' | 'workflowIdConflictPolicy'
>;

/** The Web UI shows one line. */
const summaryBytes = 200;

/**
 * Makes the options that every start of a delivery has in common, whoever asks for it: a relay or a replay. No execution
 * or run timeout: a run that the server closes runs none of our code.
 *
 * @param taskQueue The application's; deliveries have one of their own beside it.
 */
export function deliveryStartOptions(input: DeliverPublicationInput, taskQueue: string): DeliveryStartOptions {
  const { replay } = input;
  const memo: DeliveryMemo = {
    publication: input.publication,
    endpoint: input.endpoint,
    eventId: input.eventId,
    type: input.type,
    publishedAt: input.publishedAt,
    ...(replay ? { replay: replay.id } : {}),
  };
  return {
    workflowId: publicationKey(input, sha256),
    taskQueue: deliveryTaskQueue(taskQueue),
    args: [input],
    memo: { ...memo },
    typedSearchAttributes: searchAttributes(input),
    // Where the server dispatches fairly, one endpoint's backlog does not stand before another's.
    priority: { fairnessKey: input.endpoint },
    staticSummary: cutBytes(
      `${replay ? 'replay · ' : ''}${input.publication} · ${input.type} → ${input.endpoint}`,
      summaryBytes,
    ),
    staticDetails: [
      `webhook-id ${input.eventId}`,
      `published ${input.publishedAt}`,
      ...(input.tenant === '' ? [] : [`tenant ${cutBytes(input.tenant, 200)}`]),
      ...(replay
        ? [`replayed by ${cutBytes(replay.by, 200)}: ${cutBytes(replay.reason, 1_000)} (act ${replay.id})`]
        : []),
    ].join('\n\n'),
  };
}

function searchAttributes(input: DeliverPublicationInput): SearchAttributePair[] {
  const values = [
    [searchAttributeNames.type, input.type],
    [searchAttributeNames.endpoint, input.endpoint],
  ] as const;
  return keywordAttributes(values, (name) => input.searchAttributes.includes(name));
}
