import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/**
 * Leaves a committed mark before user code runs in a local activity that was begun late.
 *
 * @returns False where the mark stood already: an earlier try of the same step did not live to report.
 */
export async function markAttempt(
  sql: Sql,
  schema: SchemaName,
  mark: { readonly tenant: string; readonly eventKey: string; readonly runId: string; readonly step: string },
): Promise<boolean> {
  const { rowCount } = await sql(
    `INSERT INTO ${schema}.attempt_marks (tenant, event_key, run_id, step) VALUES ($1, $2, $3, $4)
     ON CONFLICT DO NOTHING`,
    [mark.tenant, mark.eventKey, mark.runId, mark.step],
  );
  return rowCount === 1;
}
