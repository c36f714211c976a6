import { httpFailure } from '../../../src/effects/http-failure.js';

/** A call to a recipient, as `perform` has it. */
export interface EffectCall {
  readonly businessKey: string;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/**
 * Asks a recipient to act, as the documentation says to.
 *
 * @throws What `httpFailure` makes of a refusal, and whatever `fetch` throws.
 */
export async function postEffect(url: string, call: EffectCall): Promise<{ id: string }> {
  const response = await fetch(`${url}/effects`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': call.idempotencyKey },
    body: JSON.stringify({ business: call.businessKey }),
    signal: call.signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw httpFailure(response);
  }
  const { id } = (await response.json()) as { id: string };
  return { id };
}
