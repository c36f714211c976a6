import type { EventKey } from '../identity/event-identity.js';
import type { Ledger } from '../ledger/ledger.js';
import { recordIgnored } from '../ledger/record-ignored.js';
import { type ProcessEventInput, unknownDigest } from '../workflows/contract.js';
import { writeInTime } from './write-in-time.js';

/**
 * Records an event that no effect subscribes to, and its body, before it is answered: an effect that is added later can be
 * run over it then.
 *
 * @param text The event's JSON text.
 * @returns Whether the event is recorded with another body than this one.
 * @throws {DeliveryRefused} `ledger_unavailable` when PostgreSQL did not record it in time.
 */
export async function keepIgnored(
  ledger: Ledger,
  eventKey: EventKey,
  event: Omit<ProcessEventInput, 'payload' | 'effects'>,
  text: string,
): Promise<boolean> {
  const { tenant, source, id, type, digest, receivedAt } = event;
  const body = Buffer.from(text);
  const input: ProcessEventInput = { ...event, effects: [], payload: { stored: true } };
  const recorded = await writeInTime(ledger, body.byteLength, (sql, schema) =>
    recordIgnored(sql, schema, {
      tenant,
      eventKey,
      source,
      id,
      type,
      digest,
      input: JSON.stringify(input),
      receivedAt,
      body,
    }),
  );
  return recorded.digest !== digest && recorded.digest !== unknownDigest;
}
