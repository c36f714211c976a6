import { Context } from '@temporalio/activity';
import { OnefoldError } from '../errors.js';

/** How a running attempt is told to stop, and tells that it lives. */
export interface AttemptSignal {
  /** Its reason is the error that the attempt shall fail with. */
  readonly signal: AbortSignal;
  release(): void;
}

/**
 * Aborts at the timeout, on cancellation, and at shutdown. A regular attempt also beats, so that a dead worker is noticed in
 * seconds and a cancellation reaches a living one.
 *
 * @param beatEveryMs How often it tells the server that its worker lives; undefined for a local activity.
 */
export function attemptSignal(
  timeoutMs: number,
  beatEveryMs: number | undefined,
  graceOver: AbortSignal,
): AttemptSignal {
  const context = Context.current();
  const controller = new AbortController();
  const abort = (code: 'attempt_timed_out' | 'cancelled' | 'worker_shutdown', message: string): void =>
    controller.abort(new OnefoldError(code, message));
  const timer = setTimeout(
    () => abort('attempt_timed_out', `the attempt exceeded its timeout of ${timeoutMs} ms`),
    timeoutMs,
  );
  const beat = beatEveryMs === undefined ? undefined : setInterval(() => context.heartbeat(), beatEveryMs);
  const onShutdown = (): void => abort('worker_shutdown', 'the worker is stopping');
  const onCancel = (): void => {
    if (context.cancellationDetails?.workerShutdown) onShutdown();
    else abort('cancelled', 'the attempt was cancelled');
  };
  const listened = [
    [context.cancellationSignal, onCancel],
    [graceOver, onShutdown],
  ] as const;
  for (const [signal, listener] of listened) {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener, { once: true });
  }
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer);
      clearInterval(beat);
      for (const [signal, listener] of listened) signal.removeEventListener('abort', listener);
    },
  };
}
