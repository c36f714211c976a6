import type { WorkflowStartOptions } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import type { EventKey } from '../identity/event-identity.js';
import {
  type EventMemo,
  type ProcessEventInput,
  type ProcessEventResult,
  searchAttributeNames,
} from '../workflows/contract.js';
import { cutBytes } from './indexed-text.js';
import { keywordAttributes } from './keyword-attributes.js';

/** What a start of an event is made of, whoever asks for it: a delivery or a replay. */
export interface EventStartParts {
  readonly eventKey: EventKey;
  /** `source/event-id`, for people. */
  readonly event: string;
  readonly input: ProcessEventInput;
  readonly taskQueue: string;
  /** Search attributes that are registered; no other may be named. */
  readonly registered: ReadonlySet<string>;
}

/** The memo of a run as starts write it. */
export interface EventRunMemo extends EventMemo {
  /** The act that a replayed run carries out, so that a repeated command finds it. */
  readonly replay?: string;
}

/** The workflow of an event as a client starts it. */
export type ProcessEvent = (input: ProcessEventInput) => Promise<ProcessEventResult>;

/** Everything of a start but its policies, which stand at the call. */
export type EventStartOptions = Omit<
  WorkflowStartOptions<ProcessEvent>,
  'workflowIdReusePolicy' | 'workflowIdConflictPolicy'
> & { readonly memo: Record<string, unknown> };

/** The Web UI shows one line. */
const summaryBytes = 200;

/**
 * Makes the options that every start of an event has in common, so that a replayed run is found and read like the one
 * before it. No execution or run timeout: a run that the server closes runs none of our code and is lost to its owner.
 */
export function eventStartOptions(parts: EventStartParts): EventStartOptions {
  const { input } = parts;
  const { replay } = input;
  const memo: EventRunMemo = {
    digest: input.digest,
    id: input.id,
    type: input.type,
    receivedAt: input.receivedAt,
    ...(replay ? { replay: replay.id } : {}),
  };
  return {
    workflowId: parts.eventKey,
    taskQueue: parts.taskQueue,
    args: [input],
    memo: { ...memo },
    typedSearchAttributes: searchAttributes(parts),
    staticSummary: cutBytes(`${replay ? 'replay · ' : ''}${parts.event} · ${input.type}`, summaryBytes),
    staticDetails: details(input),
  };
}

function searchAttributes({ input, registered }: EventStartParts): SearchAttributePair[] {
  const values = [
    [searchAttributeNames.source, input.source],
    [searchAttributeNames.type, input.type],
  ] as const;
  return keywordAttributes(values, (name) => registered.has(name));
}

function details(input: ProcessEventInput): string {
  const { replay } = input;
  return [
    `received ${input.receivedAt}`,
    `effects ${cutBytes(input.effects.join(', '), 1_000)}`,
    `digest ${input.digest.slice(0, 16)}`,
    ...(input.tenant === '' ? [] : [`tenant ${cutBytes(input.tenant, 200)}`]),
    ...('stored' in input.payload ? ['body stored in the ledger'] : []),
    ...(replay
      ? [`replayed by ${cutBytes(replay.by, 200)}: ${cutBytes(replay.reason, 1_000)} (act ${replay.id})`]
      : []),
  ].join('\n\n');
}
