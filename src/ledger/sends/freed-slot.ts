import { interval } from '../held-claim.js';
import type { SchemaName } from '../schema-name.js';
import { usableSlots } from './usable-slots.js';

/**
 * How long a slot is kept for the delivery that it was handed over to, ms: so long a workflow may take to hear of it and to
 * have its attempt at a worker. One that does not come costs its endpoint this time, and has lost its place.
 */
export const reservedMs = 3_000;

/**
 * The parts of a statement that free the slot of attempt $4, of delivery $1, $2, $3, and hand it over to the delivery that
 * has waited longest: with a free slot in between, whoever happened to ask would take it, and the oldest would starve.
 * `freed` has the row of the slot, with `reserved_for`; `more` says whether {@link handOverSlots} has something to do.
 *
 * @param after The part that is to hold its locks before. A delivery that waits is locked out of order, but only where
 * nobody holds it, so nobody is waited for.
 */
export function freedSlot(schema: SchemaName, after: string): string {
  return `waiter AS MATERIALIZED (
       SELECT d.publication
       FROM ${schema}.publication_deliveries d CROSS JOIN (SELECT count(*) FROM ${after}) locked
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.waiting_since IS NOT NULL AND d.publication <> $3
         AND EXISTS (SELECT 1 FROM ${schema}.endpoint_slots s JOIN ${schema}.endpoints e ON e.tenant = $1 AND e.id = $2
                     WHERE s.tenant = $1 AND s.endpoint = $2 AND s.held_by = $4::uuid
                       AND e.state = 'enabled' AND s.slot <= ${usableSlots('e')})
       ORDER BY d.waiting_since LIMIT 1
       FOR UPDATE OF d SKIP LOCKED
     ), called AS (
       UPDATE ${schema}.publication_deliveries d SET waiting_since = NULL
       FROM waiter w WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = w.publication
     ), freed AS (
       UPDATE ${schema}.endpoint_slots s
       SET held_by = NULL, reserved_for = w.publication,
           lease_until = CASE WHEN w.publication IS NULL THEN '-infinity'
                              ELSE clock_timestamp() + ${interval(String(reservedMs))} END
       FROM (SELECT count(*) FROM ${after}) locked LEFT JOIN waiter w ON true
       WHERE s.tenant = $1 AND s.endpoint = $2 AND s.held_by = $4::uuid
       RETURNING s.reserved_for
     ), more AS MATERIALIZED (
       -- Another free slot and another who waits; or this one, which its own snapshot may have found nobody for.
       SELECT CASE WHEN NOT idle.found THEN f.reserved_for IS NULL
                   ELSE EXISTS (SELECT 1 FROM ${schema}.publication_deliveries d
                                WHERE d.tenant = $1 AND d.endpoint = $2 AND d.waiting_since IS NOT NULL
                                  AND d.publication IS DISTINCT FROM f.reserved_for) END AS found
       FROM freed f
       CROSS JOIN LATERAL (
         SELECT EXISTS (SELECT 1 FROM ${schema}.endpoint_slots s JOIN ${schema}.endpoints e ON e.tenant = $1 AND e.id = $2
                        WHERE s.tenant = $1 AND s.endpoint = $2 AND s.held_by IS DISTINCT FROM $4::uuid
                          AND s.lease_until <= clock_timestamp() AND s.slot <= ${usableSlots('e')}) AS found
       ) idle
     )`;
}
