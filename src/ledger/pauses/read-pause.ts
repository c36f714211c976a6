import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type PauseName, type PauseRow, pauseColumns, pauseKey, pauseOfRow, type RecordedPause } from './pause-row.js';

/** Reads a pause, and holds its row until the transaction ends; undefined where it is not paused. */
export async function readPause(sql: Sql, schema: SchemaName, pause: PauseName): Promise<RecordedPause | undefined> {
  const { rows } = await sql<PauseRow>(
    `SELECT ${pauseColumns} FROM ${schema}.pauses
     WHERE kind = $1 AND name = $2 AND every_tenant = $3 AND tenant = $4 FOR UPDATE`,
    pauseKey(pause),
  );
  return rows[0] && pauseOfRow(rows[0]);
}
