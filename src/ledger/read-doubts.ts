import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** An unfinished effect of an event whose outcome is unknown. */
export interface DoubtfulEffect {
  /** The name that the plan recorded. */
  readonly effect: string;
  readonly businessKey: string;
}

/** Reads the effects of an event that have not ended and may have taken hold. */
export async function readDoubts(
  sql: Sql,
  schema: SchemaName,
  tenant: string,
  eventKey: string,
): Promise<readonly DoubtfulEffect[]> {
  const { rows } = await sql<DoubtfulEffect>(
    `SELECT k.effect, k.business_key AS "businessKey" FROM ${schema}.event_effects k
     JOIN ${schema}.effects d ON d.tenant = k.tenant AND d.effect = k.effect AND d.business_key = k.business_key
     WHERE k.tenant = $1 AND k.event_key = $2 AND k.outcome IS NULL
       AND (d.state IN ('unknown', 'parked', 'performed') OR (d.state = 'claimed' AND d.lease_until IS NOT NULL))`,
    [tenant, eventKey],
  );
  return rows;
}
