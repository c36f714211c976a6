import { problemContentType, problemDocument } from '../runtime/problem-document.js';
import { type AnswerCell, type AnsweredCase, answerFor } from './answers.js';
import type { Delivery, DeliveryEnd } from './delivery.js';
import type { DeliveryRefused } from './delivery-refused.js';
import type { ReceiverResponse } from './receiver-request.js';

/** Statuses that have no body. */
const bodyless: ReadonlySet<number> = new Set([204, 205]);

/** The answer to a delivery that was not refused: JSON `{ event, path, outcome?, result? }`, or a problem by the table. */
export function composeResponse(delivery: Delivery, end: DeliveryEnd): ReceiverResponse {
  const cell = answerFor(end.answer, delivery.acknowledge, delivery.successStatus);
  if (cell.code) return problem(delivery, cell, undefined, {});
  const headers = headersOf(delivery, cell);
  if (bodyless.has(cell.status)) return { status: cell.status, headers, body: '' };
  const members = [
    `"event":${JSON.stringify(delivery.event)}`,
    `"path":${JSON.stringify(delivery.path)}`,
    ...(end.outcome === undefined ? [] : [`"outcome":${JSON.stringify(end.outcome)}`]),
    // Stored JSON text, never parsed and written again, so that its numbers keep their digits.
    ...(end.result === undefined ? [] : [`"result":${end.result}`]),
  ];
  return {
    status: cell.status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: `{${members.join(',')}}`,
  };
}

/** The answer to a refused delivery: a problem document. */
export function composeRefusal(
  delivery: Delivery,
  answer: AnsweredCase,
  refusal: DeliveryRefused | Error | undefined,
): ReceiverResponse {
  const { retryAfterSeconds, headers, closeConnection } =
    refusal !== undefined && 'details' in refusal ? refusal.details : {};
  const cell = answerFor(answer, delivery.acknowledge);
  const waited = { ...cell, retryAfterSeconds: Math.max(cell.retryAfterSeconds ?? 0, retryAfterSeconds ?? 0) };
  return problem(delivery, waited, refusal?.message, {
    ...headers,
    ...(closeConnection ? { connection: 'close' } : {}),
  });
}

function problem(
  delivery: Delivery,
  cell: AnswerCell,
  detail: string | undefined,
  extra: Readonly<Record<string, string>>,
): ReceiverResponse {
  const code = cell.code ?? 'internal_error';
  const members = delivery.event === undefined ? {} : { event: delivery.event };
  return {
    status: cell.status,
    headers: { ...headersOf(delivery, cell), 'content-type': problemContentType, ...extra },
    body: problemDocument(cell.status, code, detail, members),
  };
}

function headersOf(delivery: Delivery, cell: AnswerCell): Record<string, string> {
  return {
    ...(delivery.path === undefined ? {} : { 'onefold-path': delivery.path }),
    ...(delivery.eventKey === undefined ? {} : { 'onefold-event': encodedEvent(delivery.eventKey) }),
    ...(cell.retryAfterSeconds ? { 'retry-after': String(cell.retryAfterSeconds) } : {}),
  };
}

/**
 * `source/event-id`, percent-encoded: the last two segments of the event key, which are safe in a header and bounded. An
 * id too long for the key stands there as its hash; the body has it in full.
 */
function encodedEvent(eventKey: string): string {
  return eventKey.split('/').slice(2).join('/');
}
