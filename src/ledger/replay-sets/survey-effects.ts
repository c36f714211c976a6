import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type ReplaySelection, replayConditions } from './replay-selection.js';

/** One effect of the events in a selection, by the name that was planned. */
export interface SurveyedEffect {
  readonly effect: string;
  /** Events for which it is done; a replay skips it. */
  readonly done: number;
  /** Events for which an attempt began whose end nobody wrote; a replay goes by its recovery. */
  readonly inDoubt: number;
  /** Events for which it did not happen; a replay performs it. */
  readonly left: number;
}

/** Counts what is done, in doubt and left of each effect of the events in a selection. */
export async function surveyEffects(
  sql: Sql,
  schema: SchemaName,
  selection: ReplaySelection,
): Promise<readonly SurveyedEffect[]> {
  const { where, values } = replayConditions(schema, selection);
  const { rows } = await sql<Record<keyof SurveyedEffect, string>>(
    `SELECT effect, count(*) FILTER (WHERE stands = 'done') AS done,
            count(*) FILTER (WHERE stands = 'in_doubt') AS "inDoubt", count(*) FILTER (WHERE stands = 'left') AS left
     FROM (
       SELECT p.effect, CASE WHEN p.outcome <> 'observed' OR d.state = 'done' THEN 'done'
                             WHEN d.state IS NULL OR d.state = 'released' THEN 'left' ELSE 'in_doubt' END AS stands
       FROM ${schema}.events e
       JOIN ${schema}.event_effects p ON p.tenant = e.tenant AND p.event_key = e.event_key
       LEFT JOIN ${schema}.effects d ON d.tenant = p.tenant AND d.effect = coalesce(p.completed_as, p.effect)
                                     AND d.business_key = p.business_key
       WHERE ${where}
     ) AS standing
     GROUP BY effect ORDER BY effect`,
    values,
  );
  return rows.map(({ effect, done, inDoubt, left }) => ({
    effect,
    done: Number(done),
    inDoubt: Number(inDoubt),
    left: Number(left),
  }));
}
