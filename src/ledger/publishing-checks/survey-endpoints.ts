import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** What is asked of the endpoints. */
export interface EndpointSurvey {
  /** Patterns that some published type matches. */
  readonly patterns: readonly string[];
  /** From publishing to the last attempt where an endpoint does not say, ms. */
  readonly defaultElapsedMs: number;
  /** Endpoints that fail for less than this are not counted, ms. */
  readonly failingForMs: number;
  /** Endpoints named of each kind; the others are counted only. */
  readonly named: number;
}

/** Kinds of endpoints, of all but the removed ones; one endpoint may be of several. */
export type SurveyedKind = 'any' | 'disabled' | 'failing' | 'unsubscribed' | 'overlong';

/** Endpoints of one kind. */
export interface SurveyedEndpoints {
  readonly count: number;
  /** The first of them. */
  readonly named: readonly { readonly tenant: string; readonly endpoint: string }[];
}

/**
 * Counts the endpoints of all tenants by kind, and names the first of each: how many there are, which are disabled, which
 * have failed for some time, which subscribe to nothing that is published, and whose own schedule is longer than the time
 * it may take. One pass over a table that has a row per endpoint.
 */
export async function surveyEndpoints(
  sql: Sql,
  schema: SchemaName,
  survey: EndpointSurvey,
): Promise<Readonly<Record<SurveyedKind, SurveyedEndpoints>>> {
  const { rows } = await sql<{ kind: SurveyedKind; count: number; tenant: string; endpoint: string }>(
    `SELECT kind, count, tenant, endpoint
     FROM (SELECT judged.kind, e.tenant, e.id AS endpoint, count(*) OVER (PARTITION BY judged.kind)::integer AS count,
                  row_number() OVER (PARTITION BY judged.kind ORDER BY e.tenant, e.id) AS nth
           FROM ${schema}.endpoints e
           CROSS JOIN LATERAL (
             VALUES ('any', true),
                    ('disabled', e.state = 'disabled'),
                    ('failing', e.state = 'enabled' AND e.failing_since < now() - $3 * interval '1 millisecond'),
                    ('unsubscribed', NOT e.types && $1::text[]),
                    ('overlong', (SELECT sum(pause) FROM unnest(e.pauses_ms) AS pause) > coalesce(e.elapsed_ms, $2))
           ) AS judged (kind, so)
           WHERE e.state <> 'removed' AND judged.so) AS found
     WHERE nth <= $4
     ORDER BY kind, nth`,
    [survey.patterns, survey.defaultElapsedMs, survey.failingForMs, survey.named],
  );
  const of = (kind: SurveyedKind): SurveyedEndpoints => {
    const found = rows.filter((row) => row.kind === kind);
    return { count: found[0]?.count ?? 0, named: found.map(({ tenant, endpoint }) => ({ tenant, endpoint })) };
  };
  return {
    any: of('any'),
    disabled: of('disabled'),
    failing: of('failing'),
    unsubscribed: of('unsubscribed'),
    overlong: of('overlong'),
  };
}
