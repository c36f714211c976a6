import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** A recorded business key that another one is to replace. */
export interface EffectRekeying {
  /** The name that the plan recorded. */
  readonly effect: string;
  /** Every name that the effect has had: it may have been claimed under any. */
  readonly names: readonly string[];
  /** The recorded key; where it is another one by now, nothing is replaced. */
  readonly from: string;
  readonly to: string;
}

/**
 * Replaces the business keys of effects of one event that have not ended, all or none. None where one of them may have
 * happened under its old key: claimed and not released, or done for this very event. It would happen again under the new
 * one.
 *
 * @returns The effects that stand in the way; none where the keys are replaced.
 */
export async function rekeyEffects(
  sql: Sql,
  schema: SchemaName,
  event: { readonly tenant: string; readonly eventKey: string; readonly rekeyings: readonly EffectRekeying[] },
): Promise<readonly string[]> {
  const { rows } = await sql<{ effect: string }>(
    `WITH wanted AS (
       SELECT * FROM jsonb_to_recordset($3::jsonb) AS w (effect text, names text[], "from" text, "to" text)
     ), blocked AS (
       SELECT DISTINCT w.effect
       FROM wanted w
       JOIN ${schema}.effects c ON c.tenant = $1 AND c.effect = ANY(w.names) AND c.business_key = w."from"
       WHERE c.state NOT IN ('released', 'done') OR (c.state = 'done' AND c.event_key = $2)
     ), rekeyed AS (
       UPDATE ${schema}.event_effects k SET business_key = w."to"
       FROM wanted w
       WHERE k.tenant = $1 AND k.event_key = $2 AND k.effect = w.effect AND k.business_key = w."from"
         AND k.outcome IS NULL AND NOT EXISTS (SELECT 1 FROM blocked)
     )
     SELECT effect FROM blocked`,
    [event.tenant, event.eventKey, JSON.stringify(event.rekeyings)],
  );
  return rows.map(({ effect }) => effect);
}
