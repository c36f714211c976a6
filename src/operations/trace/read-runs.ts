import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { describeExecution } from '../describe-execution.js';
import { readHistory } from './read-history.js';
import type { TracedRun } from './read-run.js';
import type { Decode, HistoryEvent } from './run-reading.js';

/** What Temporal knows of one workflow ID. */
export interface KnownRuns {
  /** Of the latest run, in lower case; `forgotten` where there is none. */
  readonly state: string;
  /** In the order in which they began. */
  readonly runs: readonly TracedRun[];
  /** There are more runs than were read. */
  readonly cut: boolean;
}

/** Runs of one event that are read, the latest ones. Nobody replays an event more often, and a loop must not be followed. */
const runsRead = 30;

/** Events of one history that are read from its beginning, and from its end where it is longer. */
const eventsRead = 1_000;
const lastEventsRead = 500;

/** Reads all runs of a workflow ID: retries after a failure, replays, resets, and what continued as new. */
export async function readRuns(client: Client, workflowId: string): Promise<KnownRuns> {
  const [latest, listed] = await Promise.all([
    describeExecution(client, workflowId),
    listRuns(client, workflowId).catch(() => new Map<string, string>()),
  ]);
  if (!latest && listed.size === 0) return { state: 'forgotten', runs: [], cut: false };
  const statuses = new Map(listed);
  if (latest) statuses.set(latest.runId, latest.status.name.toLowerCase());
  const histories = new Map<string, History>();
  // Visibility may lag behind: what a run began from is followed too.
  let wanted = [...statuses.keys()];
  while (wanted.length > 0 && histories.size < runsRead) {
    const read = await Promise.all(
      wanted.slice(0, runsRead - histories.size).map((runId) => readEvents(client, workflowId, runId)),
    );
    for (const history of read) if (history) histories.set(history.runId, history);
    const before = read.flatMap((history) => (history ? beginnings(history) : []));
    wanted = [...new Set(before)].filter((runId) => !histories.has(runId) && !statuses.has(runId));
    for (const runId of wanted) statuses.set(runId, '');
  }
  const decode = decoder(client);
  const runs = await Promise.all(
    [...histories.values()].map(async ({ runId, events, cut }) => {
      const base = resetFrom(events);
      const run = await readHistory(runId, events, decode, {
        keepCopied: base !== undefined && !histories.has(base),
        cut,
      });
      return { ...run, status: statuses.get(runId) || run.status };
    }),
  );
  runs.sort((one, other) => one.startedAt.getTime() - other.startedAt.getTime());
  return {
    state: latest?.status.name.toLowerCase() ?? runs.at(-1)?.status ?? 'forgotten',
    runs,
    cut: wanted.length > 0,
  };
}

interface History {
  readonly runId: string;
  readonly events: readonly HistoryEvent[];
  readonly cut: boolean;
}

async function listRuns(client: Client, workflowId: string): Promise<Map<string, string>> {
  const runs = new Map<string, string>();
  // Keys of events and deliveries are percent-encoded, so none can hold a quote.
  for await (const { runId, status } of client.workflow.list({
    query: `WorkflowId = '${workflowId}'`,
    pageSize: runsRead,
  })) {
    runs.set(runId, status.name.toLowerCase());
    if (runs.size === runsRead) break;
  }
  return runs;
}

/** @returns Undefined where Temporal has forgotten the run. */
async function readEvents(client: Client, workflowId: string, runId: string): Promise<History | undefined> {
  const asked = { namespace: client.options.namespace, execution: { workflowId, runId } };
  try {
    const { history, nextPageToken } = await client.workflowService.getWorkflowExecutionHistory({
      ...asked,
      maximumPageSize: eventsRead,
    });
    const events = history?.events ?? [];
    // A server may end a page before its size is reached; a history of one page then looks longer than it is.
    if (!nextPageToken?.length || events.length === 0) return { runId, events, cut: false };
    const last = await client.workflowService.getWorkflowExecutionHistoryReverse({
      ...asked,
      maximumPageSize: lastEventsRead,
    });
    const seen = new Set(events.map(({ eventId }) => String(eventId)));
    const rest = (last.history?.events ?? []).filter(({ eventId }) => !seen.has(String(eventId))).reverse();
    const gap = rest.length > 0 && Number(rest[0]?.eventId) > Number(events.at(-1)?.eventId) + 1;
    return { runId, events: [...events, ...rest], cut: gap };
  } catch (error) {
    // gRPC's NOT_FOUND
    if ((error as { code?: unknown }).code === 5) return undefined;
    throw error;
  }
}

function resetFrom(events: readonly HistoryEvent[]): string | undefined {
  const from = events.findLast(({ workflowTaskFailedEventAttributes: task }) => task?.baseRunId);
  return from?.workflowTaskFailedEventAttributes?.baseRunId ?? undefined;
}

/** Runs that one began from. */
function beginnings({ events }: History): readonly string[] {
  const continued = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  return [resetFrom(events), continued].filter((runId): runId is string => Boolean(runId));
}

/** Reads payloads through the codecs of the client. One that none can read says nothing, and hides nothing else. */
function decoder({ options }: Client): Decode {
  const codecs = options.loadedDataConverter.payloadCodecs.toReversed();
  return async (payload) => {
    if (!payload) return undefined;
    try {
      let decoded = [payload];
      for (const codec of codecs) decoded = await codec.decode(decoded);
      return decoded[0] && defaultPayloadConverter.fromPayload(decoded[0]);
    } catch {
      return undefined;
    }
  };
}
