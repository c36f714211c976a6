import type { EventKey } from '../identity/event-identity.js';
import { takeOverAdopted } from '../ledger/adopt/take-over-adopted.js';
import type { Ledger } from '../ledger/ledger.js';
import { recordIgnored } from '../ledger/record-ignored.js';
import { adoptedDigest, type ProcessEventInput, unknownDigest } from '../workflows/contract.js';
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
  const input = JSON.stringify({ ...event, effects: [], payload: { stored: true } } satisfies ProcessEventInput);
  const recorded = await writeInTime(ledger, body.byteLength, async (sql, schema) => {
    const known = await recordIgnored(sql, schema, {
      tenant,
      eventKey,
      source,
      id,
      type,
      digest,
      input,
      receivedAt,
      body,
    });
    // Done before Onefold: what is not known of it yet is what this delivery brings.
    if (known.digest === adoptedDigest) {
      await takeOverAdopted(sql, schema, { tenant, eventKey, type, digest, input, body });
    }
    return known;
  });
  return ![digest, unknownDigest, adoptedDigest].includes(recorded.digest);
}
