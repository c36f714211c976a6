import type { Sql } from '../database.js';
import { interval } from '../held-claim.js';
import type { SchemaName } from '../schema-name.js';
import { reservedMs } from './freed-slot.js';
import { usableSlots } from './usable-slots.js';

/** Handed over by one statement; what is left is for the next end of an attempt. */
const slotsAtOnce = 10;

/**
 * Hands an endpoint's free slots over to the deliveries that have waited longest for one: each is kept for its delivery for
 * a few seconds, and nobody else takes it. For what an attempt's own end cannot hand over: the slots of processes that
 * died, those that an endpoint gets back when it recovers, and one that was freed just when somebody began to wait.
 *
 * @param notComing A publication that was handed a slot and will not come for it, since it has no workflow any more: the
 * next one gets it.
 * @returns The publications, which are to be told.
 */
export async function handOverSlots(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint }: { readonly tenant: string; readonly endpoint: string },
  notComing?: string,
): Promise<readonly string[]> {
  const { rows } = await sql<{ publication: string }>(
    `WITH idle AS MATERIALIZED (
       SELECT s.slot
       FROM ${schema}.endpoint_slots s JOIN ${schema}.endpoints e ON e.tenant = $1 AND e.id = $2
       WHERE s.tenant = $1 AND s.endpoint = $2 AND e.state = 'enabled' AND s.slot <= ${usableSlots('e')}
         AND (s.lease_until <= clock_timestamp() OR s.reserved_for = $3)
         -- A slot that is locked for nothing would be passed over by whoever begins meanwhile.
         AND EXISTS (SELECT 1 FROM ${schema}.publication_deliveries d
                     WHERE d.tenant = $1 AND d.endpoint = $2 AND d.waiting_since IS NOT NULL)
       ORDER BY s.slot LIMIT ${slotsAtOnce}
       FOR UPDATE OF s SKIP LOCKED
     ), waiter AS MATERIALIZED (
       SELECT d.publication, d.waiting_since
       FROM ${schema}.publication_deliveries d
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.waiting_since IS NOT NULL
       ORDER BY d.waiting_since LIMIT (SELECT count(*) FROM idle)
       FOR UPDATE OF d SKIP LOCKED
     ), pair AS MATERIALIZED (
       SELECT i.slot, w.publication
       FROM (SELECT slot, row_number() OVER (ORDER BY slot) AS nth FROM idle) i
       JOIN (SELECT publication, row_number() OVER (ORDER BY waiting_since) AS nth FROM waiter) w USING (nth)
     ), called AS (
       UPDATE ${schema}.publication_deliveries d SET waiting_since = NULL
       FROM pair p WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = p.publication
     )
     UPDATE ${schema}.endpoint_slots s
     SET held_by = NULL, reserved_for = p.publication, lease_until = clock_timestamp() + ${interval(String(reservedMs))}
     FROM pair p
     WHERE s.tenant = $1 AND s.endpoint = $2 AND s.slot = p.slot
     RETURNING p.publication`,
    [tenant, endpoint, notComing ?? null],
  );
  return rows.map(({ publication }) => publication);
}
