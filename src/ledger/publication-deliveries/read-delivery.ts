import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type BudgetRow, budgetColumns, budgetOf, type DeliveryBudget } from '../sends/delivery-budget.js';
import { type DeliveryRow, deliveryColumns, type RecordedDelivery, recordedDelivery } from './delivery-row.js';

/** A delivery with what its budget is made of, and the endpoint it goes to. */
export interface DeliveryInFull extends RecordedDelivery {
  /** JSON: what published it, where an effect or a republishing did. */
  readonly cause?: string;
  readonly abandoned?: { readonly by: string; readonly reason: string };
  readonly endpointState: 'enabled' | 'paused' | 'disabled' | 'removed';
  readonly budget: DeliveryBudget;
}

interface Row extends DeliveryRow, BudgetRow {
  cause: string | null;
  abandoned_by: string | null;
  abandoned_reason: string | null;
  endpoint_state: DeliveryInFull['endpointState'] | null;
}

/** Reads one delivery, or undefined where the tenant has none of that publication to that endpoint. */
export async function readDelivery(
  sql: Sql,
  schema: SchemaName,
  { tenant, publication, endpoint }: DeliveryRef,
): Promise<DeliveryInFull | undefined> {
  const { rows } = await sql<Row>(
    `SELECT ${deliveryColumns}, p.cause, d.abandoned_by, d.abandoned_reason, e.state AS endpoint_state,
            ${budgetColumns('e', 'p')}
     FROM ${schema}.publication_deliveries d
     JOIN ${schema}.publications p ON p.tenant = d.tenant AND p.publication = d.publication
     LEFT JOIN ${schema}.endpoints e ON e.tenant = d.tenant AND e.id = d.endpoint
     WHERE d.tenant = $1 AND d.publication = $2 AND d.endpoint = $3`,
    [tenant, publication, endpoint],
  );
  const row = rows[0];
  if (!row) return undefined;
  return {
    ...recordedDelivery(row),
    ...(row.cause === null ? {} : { cause: row.cause }),
    ...(row.abandoned_by === null ? {} : { abandoned: { by: row.abandoned_by, reason: row.abandoned_reason ?? '' } }),
    // A row that somebody deleted by hand can take nothing any more.
    endpointState: row.endpoint_state ?? 'removed',
    budget: budgetOf(row),
  };
}
