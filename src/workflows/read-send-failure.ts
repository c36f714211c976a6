import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import type { SendFailure } from './delivery-contract.js';
import { readFailure } from './read-failure.js';

/**
 * Reads what a failed attempt told. One that did not live to tell anything may have been sent: its outcome is unknown, and
 * sending again is safe because of the event identity alone.
 */
export function readSendFailure(error: unknown, eventId: string): SendFailure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const told = readFailure(error);
  if (cause instanceof TimeoutFailure) {
    return {
      ...told,
      code: 'outcome_unknown',
      message: `${told.message}, so the endpoint may have acted; it is sent again under the same webhook-id ${eventId}, by which the endpoint recognises it`,
      outcomeUnknown: true,
    };
  }
  const detail = (cause instanceof ApplicationFailure ? cause.details?.[0] : undefined) as Partial<SendFailure> | null;
  return {
    ...told,
    ...(detail?.response ? { response: detail.response } : {}),
    ...(detail?.policy ? { policy: detail.policy } : {}),
    ...(detail?.unrecorded ? { unrecorded: detail.unrecorded } : {}),
  };
}
