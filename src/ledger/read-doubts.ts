import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** Business keys of an event's unfinished effects whose outcome is unknown. */
export async function readDoubts(sql: Sql, schema: SchemaName, tenant: string, eventKey: string): Promise<string[]> {
  const { rows } = await sql<{ businessKey: string }>(
    `SELECT k.business_key AS "businessKey" FROM ${schema}.event_effects k
     JOIN ${schema}.effects d ON d.tenant = k.tenant AND d.effect = k.effect AND d.business_key = k.business_key
     WHERE k.tenant = $1 AND k.event_key = $2 AND k.outcome IS NULL
       AND (d.state IN ('unknown', 'parked', 'performed') OR (d.state = 'claimed' AND d.lease_until IS NOT NULL))`,
    [tenant, eventKey],
  );
  return rows.map(({ businessKey }) => businessKey);
}
