import type { EventKey } from '../identity/event-identity.js';
import type { Ledger } from '../ledger/ledger.js';
import { storePayload } from '../ledger/store-payload.js';
import type { EventPayload } from '../workflows/contract.js';
import { writeInTime } from './write-in-time.js';

/** Larger bodies go to the ledger: an input stays in the history for ever, and Temporal refuses one of 2 MiB. */
export const inlineBodyBytes = 128 * 1024;

/**
 * The claim check: says how a body travels to the workflow, and where it does not travel in the input, commits it to the
 * ledger before the start that refers to it.
 *
 * @param text The event's JSON text.
 * @throws {DeliveryRefused} `ledger_unavailable` when PostgreSQL did not store the body in time.
 */
export async function checkPayload(
  ledger: Ledger,
  key: { readonly tenant: string; readonly eventKey: EventKey; readonly digest: string },
  text: string,
): Promise<EventPayload> {
  const body = Buffer.from(text);
  if (body.byteLength <= inlineBodyBytes) return { text };
  await writeInTime(ledger, body.byteLength, (sql, schema) => storePayload(sql, schema, { ...key, body }));
  return { stored: true };
}
