import type { EventKey } from '../identity/event-identity.js';
import type { Ledger } from '../ledger/ledger.js';
import { storePayload } from '../ledger/store-payload.js';
import { within } from '../runtime/within.js';
import type { EventPayload } from '../workflows/contract.js';
import { DeliveryRefused } from './delivery-refused.js';

/** Larger bodies go to the ledger: an input stays in the history for ever, and Temporal refuses one of 2 MiB. */
export const inlineBodyBytes = 128 * 1024;

/** Time for storing a body: a fixed part, and one by size for slow disks; ms, and bytes per ms. */
const storeBaseMs = 1_000;
const storeBytesPerMs = 10_000;

/**
 * The claim check: says how a body travels to the workflow, and where it does not travel in the input, commits it to the
 * ledger before the start that refers to it.
 *
 * @param text The event's JSON text.
 * @throws {DeliveryRefused} `ledger_unavailable` when PostgreSQL did not store the body in time.
 */
export async function checkPayload(
  { database, schema }: Ledger,
  key: { readonly tenant: string; readonly eventKey: EventKey; readonly digest: string },
  text: string,
): Promise<EventPayload> {
  const body = Buffer.from(text);
  if (body.byteLength <= inlineBodyBytes) return { text };
  const budgetMs = Math.ceil(storeBaseMs + body.byteLength / storeBytesPerMs);
  const stored = database.transaction((_tx, sql) => storePayload(sql, schema, { ...key, body }), {
    statementTimeoutMs: budgetMs,
    lockTimeoutMs: budgetMs,
    idleTimeoutMs: budgetMs,
    signal: AbortSignal.timeout(budgetMs),
  });
  try {
    await within(budgetMs, stored, () => new Error('PostgreSQL did not store the body in time'));
  } catch (cause) {
    const { code, name } = cause as { code?: string; name?: string };
    throw new DeliveryRefused('ledger_unavailable', 'PostgreSQL did not store the body', {
      reason: String(code ?? name),
      cause,
    });
  }
  return { stored: true };
}
