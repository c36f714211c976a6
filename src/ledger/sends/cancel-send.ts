import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { freedSlot } from './freed-slot.js';
import { handOverSlots } from './hand-over-slots.js';

/**
 * Takes back an attempt that was begun and never came to its socket: it was none. Its slot is free again, or handed over to
 * the delivery that has waited longest for one. Of an attempt that was ended or given up meanwhile nothing else is changed,
 * so repeating it is harmless. In the order in which everything locks: delivery, attempt, slot.
 *
 * @returns Publications that slots of the endpoint were handed over to; whoever hears this tells them.
 */
export async function cancelSend(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint, publication, attemptId }: DeliveryRef & { readonly attemptId: string },
): Promise<readonly string[]> {
  const { rows } = await sql<{ next: string | null; more: boolean }>(
    `WITH delivery AS MATERIALIZED (
       SELECT 1 FROM ${schema}.publication_deliveries
       WHERE tenant = $1 AND endpoint = $2 AND publication = $3
       FOR UPDATE
     ), cancelled AS (
       DELETE FROM ${schema}.publication_attempts a USING (SELECT count(*) FROM delivery) locked
       WHERE a.id = $4::uuid AND a.ended IS NULL
       RETURNING a.id
     ), counted AS (
       UPDATE ${schema}.publication_deliveries d
       SET attempts = greatest(d.attempts - 1, 0), possible_arrivals = greatest(d.possible_arrivals - 1, 0),
           sending = CASE WHEN d.sending = $4::uuid THEN NULL ELSE d.sending END,
           sending_until = CASE WHEN d.sending = $4::uuid THEN NULL ELSE d.sending_until END
       FROM cancelled
       WHERE d.tenant = $1 AND d.endpoint = $2 AND d.publication = $3
     ), ${freedSlot(schema, 'cancelled')}
     SELECT f.reserved_for AS next, m.found AS more FROM freed f CROSS JOIN more m`,
    [tenant, endpoint, publication, attemptId],
  );
  const [row] = rows;
  const handed = row?.more ? await handOverSlots(sql, schema, { tenant, endpoint }) : [];
  return row?.next ? [row.next, ...handed] : handed;
}
