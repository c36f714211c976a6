import type { WorkflowHandle } from '@temporalio/client';

/**
 * Sends `retryNow` twice a second while the work goes on, so that no test waits for a pause to end by itself. Not at once:
 * a signal during the first workflow task makes the server discard what that task did, and the ledger then answers for it.
 */
export async function nudged<Result>(
  handles: readonly WorkflowHandle[],
  work: () => Promise<Result>,
  everyMs = 500,
): Promise<Result> {
  const sent = new Set<Promise<void>>();
  const nudging = setInterval(() => {
    for (const handle of handles) {
      const signal = handle.signal('retryNow').catch(() => {});
      sent.add(signal);
      void signal.then(() => sent.delete(signal));
    }
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(nudging);
    // A signal that is still being tried would outlive the connection of its test.
    await Promise.all(sent);
  }
}
