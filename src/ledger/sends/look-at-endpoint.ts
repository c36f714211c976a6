import type { DeliveryRef } from '../../workflows/delivery-contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type BudgetRow, budgetColumns, budgetOf, type DeliveryBudget } from './delivery-budget.js';

/** How the endpoint of a delivery stands. */
export interface LookedAtEndpoint {
  readonly state: 'enabled' | 'paused' | 'disabled' | 'removed';
  readonly policy: DeliveryBudget;
}

/** Reads how the endpoint of a delivery stands and what budget it has now, or undefined where one of the two is missing. */
export async function lookAtEndpoint(
  sql: Sql,
  schema: SchemaName,
  { tenant, endpoint, publication }: DeliveryRef,
): Promise<LookedAtEndpoint | undefined> {
  const { rows } = await sql<BudgetRow & Pick<LookedAtEndpoint, 'state'>>(
    `SELECT e.state, ${budgetColumns('e', 'p')}
     FROM ${schema}.endpoints e JOIN ${schema}.publications p ON p.tenant = e.tenant
     WHERE e.tenant = $1 AND e.id = $2 AND p.publication = $3`,
    [tenant, endpoint, publication],
  );
  const [row] = rows;
  return row && { state: row.state, policy: budgetOf(row) };
}
