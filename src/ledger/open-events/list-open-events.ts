import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type OpenEventsOf, openEventsConditions } from './open-events-of.js';

/** An event that has not ended. Its tenant and its key are also the place after which a list goes on. */
export interface OpenEvent {
  readonly tenant: string;
  readonly eventKey: string;
}

/**
 * Lists open events in the order of their tenants and keys.
 *
 * @param page `after`: the last one of the page before; undefined for the first page.
 */
export async function listOpenEvents(
  sql: Sql,
  schema: SchemaName,
  of: OpenEventsOf,
  { after, limit }: { readonly after: OpenEvent | undefined; readonly limit: number },
): Promise<readonly OpenEvent[]> {
  const { where, values } = openEventsConditions(schema, of, {
    '(e.tenant, e.event_key) > (?, ?)': after && [after.tenant, after.eventKey],
  });
  const { rows } = await sql<OpenEvent>(
    `SELECT e.tenant, e.event_key AS "eventKey" FROM ${schema}.events e
     WHERE ${where} ORDER BY e.tenant, e.event_key LIMIT $${values.length + 1}`,
    [...values, limit],
  );
  return rows;
}
