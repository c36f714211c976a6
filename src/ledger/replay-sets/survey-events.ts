import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type ReplaySelection, replayConditions } from './replay-selection.js';

/** Events of one source, type and reason in a selection. */
export interface SurveyedEvents {
  readonly source: string;
  readonly type: string;
  /** Of the open dead letter; absent where there is none. */
  readonly code?: string;
  readonly events: number;
  readonly oldest: Date;
  readonly newest: Date;
}

interface Row extends Omit<SurveyedEvents, 'code' | 'events'> {
  readonly code: string | null;
  readonly events: string;
}

/** Counts the events of a selection by source, type and reason, most first. */
export async function surveyEvents(
  sql: Sql,
  schema: SchemaName,
  selection: ReplaySelection,
): Promise<readonly SurveyedEvents[]> {
  const { where, values } = replayConditions(schema, selection);
  const { rows } = await sql<Row>(
    `SELECT e.source, e.type, l.code, count(*) AS events, min(e.received_at) AS oldest, max(e.received_at) AS newest
     FROM ${schema}.events e
     LEFT JOIN ${schema}.dead_letters l ON l.tenant = e.tenant AND l.event_key = e.event_key AND l.closed_at IS NULL
     WHERE ${where}
     GROUP BY e.source, e.type, l.code
     ORDER BY count(*) DESC, e.source, e.type, l.code`,
    values,
  );
  return rows.map(({ code, events, ...row }) => ({
    ...row,
    ...(code === null ? {} : { code }),
    events: Number(events),
  }));
}
