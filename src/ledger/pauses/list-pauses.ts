import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type PauseRow, pauseColumns, pauseOfRow, type RecordedPause } from './pause-row.js';

/** Lists every pause, the oldest first. There are as many as people have made, so they come in one piece. */
export async function listPauses(sql: Sql, schema: SchemaName): Promise<readonly RecordedPause[]> {
  const { rows } = await sql<PauseRow>(`SELECT ${pauseColumns} FROM ${schema}.pauses ORDER BY at, kind, name, tenant`);
  return rows.map(pauseOfRow);
}
