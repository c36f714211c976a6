import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { classifyFailure } from '../effects/classify-failure.js';
import { OnefoldError } from '../errors.js';
import { cutText } from '../identity/cut-text.js';
import { publicationKey } from '../identity/publication-identity.js';
import { type BegunSend, beginSend } from '../ledger/sends/begin-send.js';
import { cancelSend } from '../ledger/sends/cancel-send.js';
import { decide } from '../publisher/decisions.js';
import { deliveryPolicy } from '../publisher/delivery-policy.js';
import type { Exchange } from '../publisher/egress/egress-client.js';
import { defaultSendTimeoutMs } from '../publisher/endpoint.js';
import { requestOf } from '../publisher/request-of.js';
import { withoutValues } from '../publisher/without-values.js';
import { sha256 } from '../runtime/sha256.js';
import type {
  DeliveryPolicy,
  SendAnswer,
  SendEnd,
  SendFailure,
  SendPublicationArgument,
} from '../workflows/delivery-contract.js';
import { attemptFailure } from './attempt-failure.js';
import { attemptSignal } from './attempt-signal.js';
import type { DeliveryDependencies } from './delivery-activities.js';
import { tellNext } from './tell-next.js';
import { recordSendEnd, writeSendEnd } from './write-send-end.js';

/** How often a running attempt tells the server that its worker lives. */
const beatEveryMs = 2000;

/**
 * Of an attempt's lease, beyond its exchange, ms. An attempt that has not begun to send within this time after it took
 * its slot sends nothing: its lease would end before its exchange.
 */
const leaseMarginMs = 10_000;

/** Kept of an activity's time for writing down how it ended, ms; of that, for telling so. */
const endMarginMs = 5_000;
const tellMarginMs = 1_000;

/** Of taking an attempt back, ms. */
const cancelWithinMs = 2_000;

/**
 * Makes the activity of one attempt. The attempt is committed before its socket opens, so that one which vanishes is known
 * to have an unknown outcome; that it is sent again is safe because every attempt carries the same event identity.
 *
 * A failed attempt throws; the history keeps its reason, and what was read of the response.
 */
export function createSendPublication(deps: DeliveryDependencies) {
  return async function sendPublication(argument: SendPublicationArgument): Promise<SendAnswer> {
    const { startToCloseTimeoutMs } = Context.current().info;
    const stop = attemptSignal(startToCloseTimeoutMs - endMarginMs, beatEveryMs, deps.graceOver);
    try {
      return await attempt(deps, argument, stop.signal, Date.now() + startToCloseTimeoutMs);
    } finally {
      stop.release();
    }
  };
}

async function attempt(
  deps: DeliveryDependencies,
  argument: SendPublicationArgument,
  signal: AbortSignal,
  endsAt: number,
): Promise<SendAnswer> {
  const attemptId = randomUUID();
  const step = (name: Parameters<NonNullable<DeliveryDependencies['onSendStep']>>[0]): Promise<void> =>
    deps.onSendStep?.(name, argument) ?? Promise.resolve();
  await step('before_begin');
  const asked = performance.now();
  const begun = await begin(deps, argument, attemptId, signal);
  await step('after_begin');
  if (begun.kind !== 'begun') return unsent(begun, argument);
  if (begun.unknownBefore > 0) tellUnknown(deps, argument, begun.unknownBefore);

  const policy = deliveryPolicy(begun.policy);
  const { tenant, endpoint, publication } = argument;
  const write: WriteEnd = (how) =>
    writeSendEnd(
      deps,
      { tenant, endpoint, publication, attemptId, version: begun.version, ...how },
      endsAt - tellMarginMs,
    );
  let request: ReturnType<typeof requestOf>;
  try {
    request = requestOf(begun, argument, deps.sealer, Date.now());
  } catch (error) {
    // Another worker may have the key.
    const why = { ...asOnefoldError(error), permanent: false, counted: false, policy };
    throw await unbegun(deps, argument, attemptId, why);
  }
  const leaseLeftMs = begun.leftMs - (performance.now() - asked);
  const timeoutMs = Math.min(policy.timeoutMs, endsAt - endMarginMs - Date.now());
  if (signal.aborted || timeoutMs <= 0 || leaseLeftMs < policy.timeoutMs) {
    // It was frozen, or waited in the pool: by now another attempt may be under way.
    throw await unbegun(deps, argument, attemptId, { ...lateFailure(signal), policy });
  }

  const { sealedValues, ...toSend } = request;
  let sending = false;
  const onSending = (): void => {
    sending = true;
  };
  let exchange: Exchange;
  try {
    exchange = await deps.egress.of(tenant).send({ ...toSend, timeoutMs, signal, onSending });
  } catch (error) {
    const { code, message } = asOnefoldError(error);
    if (!sending && signal.aborted) {
      // A deploy while it was connecting: not a byte went out.
      throw await unbegun(deps, argument, attemptId, { code, message, permanent: false, counted: false, policy });
    }
    const durationMs = Math.round(performance.now() - asked);
    const written = await write({ ended: 'outcome_unknown', code, status: null, durationMs, mayHaveArrived: true });
    throw tellFailed(deps, argument, {
      code,
      message: `${message}, while the request was under way`,
      permanent: begun.atMostOnce,
      counted: true,
      outcomeUnknown: true,
      policy,
      ...written,
    });
  }
  await step('after_exchange');
  return judge(deps, argument, begun, policy, withoutSealed(exchange, sealedValues), write);
}

/** Writes down how the attempt ended. */
type WriteEnd = (
  how: Omit<SendEnd, 'tenant' | 'endpoint' | 'publication' | 'attemptId' | 'version'>,
) => ReturnType<typeof writeSendEnd>;

/** What an endpoint keeps sealed must not come back into the history in clear. */
function withoutSealed(exchange: Exchange, values: readonly string[]): Exchange {
  if (exchange.kind !== 'response' || values.length === 0) return exchange;
  const { response, location } = exchange;
  return {
    ...exchange,
    response: { ...response, text: withoutValues(response.text, values) },
    ...(location === undefined ? {} : { location: withoutValues(location, values) }),
  };
}

/** Says how the exchange came out, and writes it down. */
async function judge(
  deps: DeliveryDependencies,
  argument: SendPublicationArgument,
  begun: BegunSend & { readonly kind: 'begun' },
  policy: DeliveryPolicy,
  exchange: Exchange,
  write: WriteEnd,
): Promise<SendAnswer> {
  if (exchange.kind === 'no_response') {
    const { code, message, mayHaveArrived, durationMs } = exchange;
    const rejected = code === 'destination_refused' || (begun.atMostOnce && mayHaveArrived);
    const written = await write({
      ended: rejected ? 'rejected' : 'retry',
      code,
      status: null,
      durationMs,
      mayHaveArrived,
    });
    await deps.onSendStep?.('after_end', argument);
    throw tellFailed(deps, argument, {
      code,
      message,
      permanent: rejected,
      counted: true,
      ...(mayHaveArrived ? { outcomeUnknown: true as const } : {}),
      policy,
      ...written,
    });
  }
  const { response, retryAfterMs, location } = exchange;
  const { status, bytes, digest, text, durationMs } = response;
  const { decision, retryAfter } = decide(status);
  // A receiver that answers has had the message, whatever it says.
  const ended = decision === 'retry' && begun.atMostOnce ? 'rejected' : decision;
  const code = ended === 'delivered' ? null : ended === 'gone' ? 'endpoint_gone' : `http_${status}`;
  const written = await write({
    ended,
    code,
    status,
    durationMs,
    response: { bytes, digest, text },
  });
  await deps.onSendStep?.('after_end', argument);
  if (code === null) {
    deps.metrics.sends.inc({ ended });
    deps.metrics.sendSeconds.observe(durationMs / 1000);
    deps.log.info({ ...named(argument), status, ms: durationMs }, 'delivery.delivered');
    return { kind: 'delivered', response, policy, ...written };
  }
  const redirect = location === undefined ? '' : ` to ${location}, which is not followed`;
  throw tellFailed(deps, argument, {
    code,
    message: `HTTP ${status}${redirect}`,
    permanent: ended !== 'retry',
    counted: true,
    ...(retryAfter && retryAfterMs !== undefined ? { retryAfterMs } : {}),
    response,
    policy,
    ...written,
  });
}

async function begin(
  deps: DeliveryDependencies,
  argument: SendPublicationArgument,
  attemptId: string,
  signal: AbortSignal,
): Promise<BegunSend> {
  const { ticket, replay, tenant, endpoint, publication, runId, attempt } = argument;
  const { database, schema } = deps.ledger;
  const ask = (): Promise<BegunSend> => {
    signal.throwIfAborted();
    return beginSend(database.query, schema, {
      tenant,
      endpoint,
      publication,
      attemptId,
      runId,
      attempt,
      leaseMarginMs,
      defaultTimeoutMs: defaultSendTimeoutMs,
      ...(replay === undefined ? {} : { replay }),
      ...(ticket ? { ticket: { at: new Date(ticket.at), version: ticket.version } } : {}),
    });
  };
  try {
    // Where only the answer was lost the attempt has begun: asked again under the same id, the ledger says so.
    return await ask().catch((error: unknown) => {
      if (classifyFailure(error, []).code !== 'ledger_unavailable') throw error;
      return ask();
    });
  } catch (error) {
    const detail = classifyFailure(error, []);
    // Nothing was sent, so nothing is spent, but on a defect, which would be met again for ever.
    const defect = detail.code === 'effect_threw';
    const code = defect ? 'internal_error' : detail.code;
    throw tellFailed(deps, argument, { ...detail, code, permanent: false, counted: defect });
  }
}

/** Takes back an attempt that never came to its socket, and says why: nothing was sent, so nothing is spent. */
async function unbegun(
  deps: DeliveryDependencies,
  argument: SendPublicationArgument,
  attemptId: string,
  detail: SendFailure,
): Promise<Error> {
  const { database, schema } = deps.ledger;
  const cancelled = cancelSend(database.query, schema, { ...argument, attemptId }).then(
    (next) => tellNext(deps, argument, next),
    (error: Error) => deps.log.warn({ ...named(argument), reason: error.message }, 'delivery.unrecorded'),
  );
  // Where PostgreSQL is away the lease runs out, and the attempt counts as of unknown outcome: wrong, and safe. The failure
  // itself must be told in time.
  await Promise.race([cancelled, sleep(cancelWithinMs)]);
  return tellFailed(deps, argument, detail);
}

/** What the ledger refused before anything was sent, in the words of the workflow. */
function unsent(begun: Exclude<BegunSend, { kind: 'begun' }>, { eventId }: SendPublicationArgument): SendAnswer {
  switch (begun.kind) {
    case 'delivered':
      return { kind: 'already_delivered' };
    case 'abandoned':
      return { kind: 'already_abandoned', by: begun.by, reason: begun.reason };
    case 'held':
      return {
        kind: 'held',
        because: begun.state === 'paused' ? 'endpoint_paused' : 'endpoint_disabled',
        policy: deliveryPolicy(begun.policy),
      };
    case 'limited':
      return {
        kind: 'limited',
        by: begun.by,
        waitMs: begun.waitMs,
        ...(begun.ticket ? { ticket: { at: begun.ticket.at.toISOString(), version: begun.ticket.version } } : {}),
        policy: deliveryPolicy(begun.policy),
      };
    case 'removed':
      return { kind: 'impossible', code: 'endpoint_removed', message: 'the endpoint was removed' };
    case 'missing':
      return {
        kind: 'impossible',
        code: 'publication_missing',
        message: `the ledger has no publication ${eventId} for this endpoint`,
      };
    case 'unknown_before':
      throw attemptFailure({
        code: 'outcome_unknown',
        message: 'an earlier attempt may have arrived, and this endpoint wants each message at most once',
        permanent: true,
        counted: false,
        outcomeUnknown: true,
        policy: deliveryPolicy(begun.policy),
      } as SendFailure);
  }
}

function lateFailure(signal: AbortSignal): Omit<SendFailure, 'policy'> {
  const { code, message } = signal.aborted
    ? asOnefoldError(signal.reason)
    : { code: 'attempt_timed_out', message: 'the attempt came to send after its lease could have been over' };
  return { code, message: `${message}; nothing was sent`, permanent: false, counted: false };
}

function named(argument: SendPublicationArgument): Record<string, unknown> {
  const { tenant, publication, endpoint, eventId, attempt } = argument;
  return {
    deliveryKey: publicationKey(argument, sha256),
    publication,
    endpoint,
    eventId,
    ...(tenant === '' ? {} : { tenant }),
    attempt,
  };
}

function tellFailed(deps: DeliveryDependencies, argument: SendPublicationArgument, detail: SendFailure): Error {
  const { code, permanent, response, outcomeUnknown } = detail;
  deps.metrics.sends.inc({ ended: code });
  if (response) deps.metrics.sendSeconds.observe(response.durationMs / 1000);
  deps.log.warn(
    {
      ...named(argument),
      code,
      permanent,
      ...(response ? { status: response.status, ms: response.durationMs } : {}),
    },
    outcomeUnknown ? 'delivery.outcome_unknown' : detail.counted ? 'delivery.attempt' : 'delivery.unsent',
  );
  return attemptFailure({ ...detail, message: cutText(detail.message, 1000) });
}

/** Attempts that vanished: their row stands since before their socket opened, and nothing says how they ended. */
function tellUnknown(deps: DeliveryDependencies, argument: SendPublicationArgument, attempts: number): void {
  deps.metrics.sends.inc({ ended: 'outcome_unknown' }, attempts);
  deps.log.warn(
    { ...named(argument), attempts, code: 'outcome_unknown', because: 'sent again under the same webhook-id' },
    'delivery.outcome_unknown',
  );
}

function asOnefoldError(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof OnefoldError) return { code: error.code, message: error.message };
  return { code: 'internal_error', message: error instanceof Error ? error.name : 'unknown' };
}

/** Makes the activity that writes down an attempt's end which the attempt itself could not: PostgreSQL was away. */
export function createRecordSend(deps: DeliveryDependencies) {
  return async function recordSend(end: SendEnd): Promise<void> {
    await recordSendEnd(deps, end);
  };
}
