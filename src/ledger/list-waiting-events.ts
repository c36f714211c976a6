import type { Sql } from './database.js';
import type { ClaimIdentity } from './read-claim.js';
import type { SchemaName } from './schema-name.js';

/** An event that has an effect under a business key and has not ended it. */
export interface WaitingEvent {
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly state: 'open' | 'dead_lettered';
  /** Of its open dead letter. */
  readonly code?: string;
}

/**
 * Lists events whose effect under a business key has not ended, abandoned ones aside, in the order of their keys.
 *
 * @param page `after`: event key of the last one of the page before, '' for the first page.
 */
export async function listWaitingEvents(
  sql: Sql,
  schema: SchemaName,
  { tenant, names, businessKey }: ClaimIdentity,
  page: { readonly after: string; readonly limit: number },
): Promise<readonly WaitingEvent[]> {
  const { rows } = await sql<Omit<WaitingEvent, 'code'> & { code: string | null }>(
    `SELECT e.event_key AS "eventKey", e.source, e.event_id AS id, e.state, l.code
     FROM ${schema}.event_effects k
     JOIN ${schema}.events e ON e.tenant = k.tenant AND e.event_key = k.event_key
     LEFT JOIN ${schema}.dead_letters l ON l.tenant = e.tenant AND l.event_key = e.event_key AND l.closed_at IS NULL
     WHERE k.tenant = $1 AND k.effect = ANY($2) AND k.business_key = $3 AND k.outcome IS NULL
       AND e.state IN ('open', 'dead_lettered') AND e.event_key > $4
     ORDER BY e.event_key LIMIT $5`,
    [tenant, names, businessKey, page.after, page.limit],
  );
  return rows.map(({ code, ...event }) => ({ ...event, ...(code === null ? {} : { code }) }));
}
