import { AsyncLocalStorage } from 'node:async_hooks';
import { type Connection, type ConnectionLike, isGrpcDeadlineError, isGrpcServiceError } from '@temporalio/client';

/** Silence for this long, while calls were made, means that the connection and not one call is at fault, ms. */
const silentMs = 4_000;
/** Calls with a later deadline wait for something to happen; that nothing did says nothing of the connection. */
const shortCallMs = 3_000;
/** What still runs on a replaced connection gets this much longer, ms. */
const closeAfterMs = 60_000;

/** gRPC's codes that are no answer of a server: the caller gave up, or the channel is trying to reach it by itself. */
const unanswered: ReadonlySet<number | undefined> = new Set([1, 14]);

/**
 * A connection that is replaced when nothing answers on it any more. gRPC's own means do not reach every such state: it
 * sets no limit to a TCP connect or to the HTTP/2 handshake, so that a channel which met a frozen server, or a network
 * that drops packets, at the wrong moment would wait on one socket for minutes or for ever, with Temporal long back.
 *
 * Everything inside one `withDeadline`, `withMetadata` or `withAbortSignal` runs on one connection.
 *
 * @param open Makes a lazy connection with a subchannel pool of its own, else the new one would share the old socket.
 */
export function replaceableConnection(open: () => Connection): ConnectionLike {
  const pinned = new AsyncLocalStorage<Connection>();
  let latest = open();
  let openedAt = Date.now();
  let answeredAt = Date.now();
  const current = (): Connection => pinned.getStore() ?? latest;
  const pin = <Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> => {
    const connection = current();
    return pinned.run(connection, () => work(connection));
  };

  const judge = (connection: Connection, error: unknown): void => {
    if (!isGrpcDeadlineError(error)) {
      if (!unanswered.has(codeOf(error))) answeredAt = Date.now();
      return;
    }
    const since = Date.now() - Math.max(answeredAt, openedAt);
    if (connection !== latest || since < silentMs) return;
    latest = open();
    openedAt = Date.now();
    setTimeout(() => void connection.close(), closeAfterMs).unref();
  };

  return {
    get workflowService() {
      return current().workflowService;
    },
    get operatorService() {
      return current().operatorService;
    },
    get plugins() {
      return current().plugins;
    },
    ensureConnected: () => current().ensureConnected(),
    close: () => latest.close(),
    withMetadata: (metadata, fn) => pin((connection) => connection.withMetadata(metadata, fn)),
    withAbortSignal: (signal, fn) => pin((connection) => connection.withAbortSignal(signal, fn)),
    withDeadline: (deadline, fn) =>
      pin(async (connection) => {
        const short = Number(deadline) - Date.now() <= shortCallMs;
        try {
          const result = await connection.withDeadline(deadline, fn);
          answeredAt = Date.now();
          return result;
        } catch (error) {
          if (short) judge(connection, error);
          throw error;
        }
      }),
  };
}

function codeOf(error: unknown): number | undefined {
  const cause = isGrpcServiceError(error) ? error : (error as { cause?: unknown } | undefined)?.cause;
  return isGrpcServiceError(cause) ? cause.code : undefined;
}
