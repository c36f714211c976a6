import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** What names a delivery. */
export interface DeliveryName {
  readonly tenant: string;
  readonly publication: string;
  readonly endpoint: string;
}

/**
 * Notes that the workflows of deliveries were started. Only what is still queued is changed: a workflow may have ended and
 * written so before this. The rows are locked in one order, so that two relays that both started them do not deadlock.
 */
export async function markStarted(sql: Sql, schema: SchemaName, started: readonly DeliveryName[]): Promise<void> {
  await sql(
    `WITH mine AS (
       SELECT d.tenant, d.publication, d.endpoint
       FROM ${schema}.publication_deliveries d
       JOIN unnest($1::text[], $2::text[], $3::text[]) AS s (tenant, publication, endpoint)
         ON d.tenant = s.tenant AND d.publication = s.publication AND d.endpoint = s.endpoint
       WHERE d.state = 'queued'
       ORDER BY d.tenant, d.publication, d.endpoint
       FOR UPDATE OF d
     )
     UPDATE ${schema}.publication_deliveries d SET state = 'started', started_at = clock_timestamp()
     FROM mine
     WHERE d.tenant = mine.tenant AND d.publication = mine.publication AND d.endpoint = mine.endpoint
       AND d.state = 'queued'`,
    columns(started),
  );
}

/**
 * Gives deliveries that were taken and not started back to the queue, so that nobody waits for their lease to run out.
 *
 * @param afterMs How long they still stay away from all relays, ms.
 */
export async function giveBackQueued(
  sql: Sql,
  schema: SchemaName,
  taken: readonly DeliveryName[],
  afterMs: number,
): Promise<void> {
  await sql(
    `WITH mine AS (
       SELECT d.tenant, d.publication, d.endpoint
       FROM ${schema}.publication_deliveries d
       JOIN unnest($1::text[], $2::text[], $3::text[]) AS s (tenant, publication, endpoint)
         ON d.tenant = s.tenant AND d.publication = s.publication AND d.endpoint = s.endpoint
       WHERE d.state = 'queued'
       ORDER BY d.tenant, d.publication, d.endpoint
       FOR UPDATE OF d
     )
     UPDATE ${schema}.publication_deliveries d SET relay_until = clock_timestamp() + $4 * interval '1 millisecond'
     FROM mine
     WHERE d.tenant = mine.tenant AND d.publication = mine.publication AND d.endpoint = mine.endpoint
       AND d.state = 'queued'`,
    [...columns(taken), afterMs],
  );
}

function columns(names: readonly DeliveryName[]): readonly (readonly string[])[] {
  return [
    names.map(({ tenant }) => tenant),
    names.map(({ publication }) => publication),
    names.map(({ endpoint }) => endpoint),
  ];
}
