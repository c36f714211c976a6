import type { Asked, Receipt } from './partner.js';

/** A call to the partner, as an effect makes it. */
export interface PartnerCall {
  readonly businessKey: string;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/**
 * Asks the partner to act.
 *
 * @throws An error with the `status` of a refusal, or what `fetch` throws.
 */
export async function callPartner(url: string, call: PartnerCall): Promise<{ id: string; business: string }> {
  const response = await fetch(`${url}/effects`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': call.idempotencyKey },
    body: JSON.stringify({ business: call.businessKey }),
    signal: call.signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw Object.assign(new Error(`the partner answered ${response.status}`), { status: response.status });
  }
  const { id, business } = (await response.json()) as Receipt;
  return { id, business };
}

/** Asks the partner what became of a call, in the words of a recovery. */
export async function askPartner(
  url: string,
  { businessKey, signal }: Omit<PartnerCall, 'idempotencyKey'>,
): Promise<{ done: { id: string; business: string } } | 'absent' | 'unknown'> {
  const response = await fetch(`${url}/effects/${encodeURIComponent(businessKey)}`, { signal });
  const asked = (await response.json()) as Asked;
  return asked.state === 'done' ? { done: { ...asked.result } } : asked.state;
}
