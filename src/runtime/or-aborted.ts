/**
 * Waits for work, or for its signal, whichever comes first: work that never listens must not hold a slot.
 *
 * @throws the signal's reason once it has aborted, also where the work ended at the same moment.
 */
export async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, aborted]);
  } catch (error) {
    // Whatever the work made of the abort, the reason is what the attempt failed with.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    work.catch(() => {});
    aborted.catch(() => {});
  }
}
