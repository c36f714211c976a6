import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type PauseName, pauseKey } from './pause-row.js';

/** Ends a pause. */
export async function deletePause(sql: Sql, schema: SchemaName, pause: PauseName): Promise<void> {
  await sql(
    `DELETE FROM ${schema}.pauses WHERE kind = $1 AND name = $2 AND every_tenant = $3 AND tenant = $4`,
    pauseKey(pause),
  );
}
