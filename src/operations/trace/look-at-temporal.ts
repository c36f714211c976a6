import { sideBySide } from '../../runtime/side-by-side.js';
import { within } from '../../runtime/within.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type KnownRuns, readRuns } from './read-runs.js';
import type { TemporalLook } from './trace.js';

/** What a look at several workflow IDs came to; those that did not answer in time are missing. */
export interface SeenRuns {
  readonly look: TemporalLook;
  readonly known: ReadonlyMap<string, KnownRuns>;
}

/** The whole look at Temporal, however many events it is about. */
const withinMs = 2_000;

/** Workflow IDs at once; each is several calls. */
const atOnce = 8;

/**
 * Reads the runs of several workflow IDs, and waits no longer than two seconds for all of them together: whoever asks is
 * told then what the ledger knows.
 */
export async function lookAtTemporal(context: OperationsContext, workflowIds: readonly string[]): Promise<SeenRuns> {
  const known = new Map<string, KnownRuns>();
  const late = (): Error => new Error(`no answer within ${withinMs / 1000} seconds`);
  try {
    const { client } = context;
    const look = client.withDeadline(Date.now() + withinMs, () =>
      sideBySide(atOnce, workflowIds, async (workflowId) => {
        known.set(workflowId, await readRuns(client, workflowId));
      }),
    );
    await within(withinMs, look, late);
    return { look: { state: 'looked' }, known };
  } catch (error) {
    const { message } = operationFailure(error) as Error;
    // What comes in later must not change what was told.
    return { look: { state: 'unreachable', reason: message }, known: new Map(known) };
  }
}
