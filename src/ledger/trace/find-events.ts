import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { prefixRange } from './prefix-range.js';

/** An event that a name may mean. */
export interface FoundEvent {
  readonly tenant: string;
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly receivedAt: Date;
}

/** What is known of an event's name. */
export interface EventNamePart {
  /** All tenants where it is not given. */
  readonly tenant?: string | undefined;
  readonly source?: string | undefined;
  /** The whole id, or its beginning. */
  readonly id: string;
  readonly whole: boolean;
}

/** Of an id, as the index holds it; see the migration that makes it. */
const indexedCharacters = 256;

/** Finds events by their id or its beginning, those received last first among the ones looked at. */
export async function findEvents(
  sql: Sql,
  schema: SchemaName,
  { tenant, source, id, whole }: EventNamePart,
  limit: number,
): Promise<readonly FoundEvent[]> {
  const indexed = [...id].slice(0, indexedCharacters).join('');
  const { where, values } = conditions({
    'left(event_id, 256) = ? AND event_id = ?': whole ? [indexed, id] : undefined,
    'left(event_id, 256) ~>=~ ? AND left(event_id, 256) ~<~ ?': whole ? undefined : prefixRange(indexed),
    'starts_with(event_id, ?)': whole ? undefined : id,
    'tenant = ?': tenant,
    'source = ?': source,
  });
  const { rows } = await sql<FoundEvent>(
    `SELECT * FROM (
       SELECT tenant, event_key AS "eventKey", source, event_id AS id, type, state, received_at AS "receivedAt"
       FROM ${schema}.events WHERE ${where} LIMIT ${limit}
     ) found ORDER BY "receivedAt" DESC, "eventKey"`,
    values,
  );
  return rows;
}
