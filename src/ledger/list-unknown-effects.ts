import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** An effect that the ledger holds something of, under a name that was not among those given. */
export interface UnknownEffect {
  readonly effect: string;
  /** Claims that are neither done nor proven not to have been: an attempt began, and nobody wrote how it ended. */
  readonly unfinishedClaims: number;
  /** Events under way that still have this effect before them. */
  readonly openEvents: number;
  /** Dead-lettered events that a replay would carry on with it. */
  readonly deadLetteredEvents: number;
}

/**
 * Lists the effects in the ledger whose name is not among the known ones, by name.
 *
 * Goes through the primary key of `effects` from one (tenant, effect) to the next, and counts only under unknown names,
 * since the table keeps every completion for good.
 */
export async function listUnknownEffects(
  sql: Sql,
  schema: SchemaName,
  known: readonly string[],
): Promise<readonly UnknownEffect[]> {
  const { rows } = await sql<Record<keyof UnknownEffect, string>>(
    `WITH RECURSIVE pair AS (
       (SELECT tenant, effect FROM ${schema}.effects ORDER BY tenant, effect LIMIT 1)
       UNION ALL
       SELECT following.tenant, following.effect
       FROM pair, LATERAL (SELECT e.tenant, e.effect FROM ${schema}.effects e
                           WHERE (e.tenant, e.effect) > (pair.tenant, pair.effect)
                           ORDER BY e.tenant, e.effect LIMIT 1) AS following
     ), claims AS (
       SELECT pair.effect, sum(counted.unfinished) AS unfinished
       FROM pair, LATERAL (SELECT count(*) AS unfinished FROM ${schema}.effects e
                           WHERE e.tenant = pair.tenant AND e.effect = pair.effect
                             AND e.state NOT IN ('done', 'released')) AS counted
       WHERE pair.effect <> ALL($1)
       GROUP BY pair.effect
     ), planned AS (
       SELECT ee.effect,
              count(*) FILTER (WHERE e.state = 'open') AS open,
              count(*) FILTER (WHERE e.state = 'dead_lettered') AS dead_lettered
       FROM ${schema}.events e JOIN ${schema}.event_effects ee USING (tenant, event_key)
       WHERE e.state IN ('open', 'dead_lettered') AND ee.outcome IS NULL AND ee.effect <> ALL($1)
       GROUP BY ee.effect
     )
     SELECT effect, coalesce(claims.unfinished, 0) AS "unfinishedClaims", coalesce(planned.open, 0) AS "openEvents",
            coalesce(planned.dead_lettered, 0) AS "deadLetteredEvents"
     FROM claims FULL JOIN planned USING (effect)
     ORDER BY effect`,
    [known],
  );
  return rows.map((row) => ({
    effect: row.effect,
    unfinishedClaims: Number(row.unfinishedClaims),
    openEvents: Number(row.openEvents),
    deadLetteredEvents: Number(row.deadLetteredEvents),
  }));
}
