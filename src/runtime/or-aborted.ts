/**
 * Waits for work, or for its signal, whichever comes first: work that never listens must not hold a slot.
 *
 * @throws the signal's reason where it aborted before the work was done.
 */
export async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
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
