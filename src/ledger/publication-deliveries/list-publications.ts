import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type DeliveryState, exactly } from './delivery-row.js';

/** Which publications of a tenant are asked for; what is left out restricts nothing. */
export interface PublicationSelection {
  readonly tenant: string;
  readonly type?: string;
  /** Published at or after. */
  readonly since?: Date;
  /** Published before. */
  readonly until?: Date;
}

/** The place of a publication in the order of a list. */
export type PublicationPlace = readonly [publishedAt: string, publication: string];

/** A publication, and how many of its deliveries are in each state. */
export interface RecordedPublication {
  readonly tenant: string;
  readonly publication: string;
  readonly eventId: string;
  readonly type: string;
  readonly publishedAt: Date;
  /** Whether failed attempts are repeated. */
  readonly retried: boolean;
  /** JSON: what published it, where an effect or a republishing did. */
  readonly cause?: string;
  readonly deliveries: Readonly<Partial<Record<DeliveryState, number>>>;
}

/** A publication in a list, with its place. */
export interface ListedPublication {
  readonly publication: RecordedPublication;
  readonly place: PublicationPlace;
}

interface Row {
  tenant: string;
  publication: string;
  event_id: string;
  type: string;
  published_at: Date;
  retried: boolean;
  cause: string | null;
  states: DeliveryState[];
  counts: number[];
  at: string;
}

/**
 * Lists publications of a tenant, the latest first.
 *
 * @param page `after`: place of the last one of the page before; `only`: this publication alone.
 */
export async function listPublications(
  sql: Sql,
  schema: SchemaName,
  selection: PublicationSelection,
  page: { readonly after?: PublicationPlace; readonly only?: string; readonly limit: number },
): Promise<readonly ListedPublication[]> {
  const { where, values } = conditions({
    'p.tenant = ?': selection.tenant,
    'p.publication = ?': page.only,
    'p.type = ?': selection.type,
    'p.published_at >= ?': selection.since,
    'p.published_at < ?': selection.until,
    // Said twice, since an index is entered by a plain bound only.
    'p.published_at <= ?': page.after?.[0],
    '(p.published_at < ? OR p.publication > ?)': page.after,
  });
  const { rows } = await sql<Row>(
    `SELECT p.tenant, p.publication, p.event_id, p.type, p.published_at, p.retried, p.cause,
            ${exactly('p.published_at')} AS at, s.states, s.counts
     FROM ${schema}.publications p
     CROSS JOIN LATERAL (
       SELECT coalesce(array_agg(state ORDER BY state), '{}') AS states,
              coalesce(array_agg(deliveries ORDER BY state), '{}') AS counts
       FROM (SELECT d.state, count(*)::int AS deliveries FROM ${schema}.publication_deliveries d
             WHERE d.tenant = p.tenant AND d.publication = p.publication GROUP BY d.state) c
     ) s
     WHERE ${where}
     ORDER BY p.published_at DESC, p.publication
     LIMIT $${values.length + 1}`,
    [...values, page.limit],
  );
  return rows.map((row) => ({
    publication: {
      tenant: row.tenant,
      publication: row.publication,
      eventId: row.event_id,
      type: row.type,
      publishedAt: row.published_at,
      retried: row.retried,
      ...(row.cause === null ? {} : { cause: row.cause }),
      deliveries: Object.fromEntries(row.states.map((state, index) => [state, row.counts[index] ?? 0])),
    },
    place: [row.at, row.publication],
  }));
}
