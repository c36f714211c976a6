import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** An effect of an event that was parked. */
export interface ParkedEffect {
  readonly tenant: string;
  readonly eventKey: string;
  readonly names: readonly string[];
  readonly businessKey: string;
}

/** How a parked effect stands. */
export interface LookedAtParked {
  readonly parked: boolean;
  /** Its event has an entry among those that wait. A look of a sibling from before this one parked may have closed it. */
  readonly listed: boolean;
}

/**
 * Looks whether an effect still waits for a person. Where it does not, and no other effect of its event does, the event
 * leaves the list of those that wait.
 */
export async function closeParked(sql: Sql, schema: SchemaName, one: ParkedEffect): Promise<LookedAtParked> {
  const { rows } = await sql<LookedAtParked>(
    `WITH this AS (
       SELECT EXISTS (SELECT 1 FROM ${schema}.effects
                      WHERE tenant = $1 AND effect = ANY($3) AND business_key = $4 AND state = 'parked') AS parked
     ), others AS (
       SELECT 1 FROM ${schema}.event_effects k
       JOIN ${schema}.effects d ON d.tenant = k.tenant AND d.effect = k.effect AND d.business_key = k.business_key
       WHERE k.tenant = $1 AND k.event_key = $2 AND k.outcome IS NULL AND d.state = 'parked'
     ), closed AS (
       UPDATE ${schema}.dead_letters SET closed_at = clock_timestamp(), closed_by = 'resolve'
       WHERE tenant = $1 AND event_key = $2 AND closed_at IS NULL AND parked
         AND NOT EXISTS (SELECT 1 FROM this WHERE parked) AND NOT EXISTS (SELECT 1 FROM others)
     )
     SELECT parked, EXISTS (SELECT 1 FROM ${schema}.dead_letters AS l
                            WHERE l.tenant = $1 AND l.event_key = $2 AND l.closed_at IS NULL AND l.parked) AS listed
     FROM this`,
    [one.tenant, one.eventKey, one.names, one.businessKey],
  );
  return rows[0] ?? { parked: false, listed: false };
}
