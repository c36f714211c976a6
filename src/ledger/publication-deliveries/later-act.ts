import type { Sql } from '../database.js';
import type { RecordedAct } from '../record-act.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Finds the act by which a replay came too late to send anything: a later replay that its delivery was sent by, or a later
 * abandonment. The same rule as that of an attempt, see `beginSendStatement`.
 *
 * @returns The id of the latest one.
 */
export async function laterAct(
  sql: Sql,
  schema: SchemaName,
  delivery: { readonly tenant: string; readonly publication: string; readonly endpoint: string },
  replay: Pick<RecordedAct, 'id' | 'eventKey'>,
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>(
    `SELECT later.id
     FROM ${schema}.acts this
     JOIN ${schema}.acts later ON later.tenant = this.tenant AND later.event_key = this.event_key AND later.at > this.at
     JOIN ${schema}.publication_deliveries d ON d.tenant = $1 AND d.publication = $2 AND d.endpoint = $3
     WHERE this.tenant = $1 AND this.event_key = $4 AND this.id = $5 AND (later.id = d.replay OR later.kind = 'abandon')
     ORDER BY later.at DESC LIMIT 1`,
    [delivery.tenant, delivery.publication, delivery.endpoint, replay.eventKey, replay.id],
  );
  return rows[0]?.id;
}
