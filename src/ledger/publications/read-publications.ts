import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** What names a publication, both ways. */
export interface PublicationName {
  readonly tenant: string;
  readonly publication: string;
  readonly eventId: string;
}

/** One delivery of a publication. */
export interface PublicationDelivery {
  readonly endpoint: string;
  readonly state: 'queued' | 'started' | 'delivered' | 'dead_lettered' | 'abandoned';
}

/** A publication as it is recorded. */
export interface RecordedPublication {
  /** Another one than asked for where only the event id is the same. */
  readonly publication: string;
  readonly eventId: string;
  readonly type: string;
  readonly digest: string;
  readonly publishedAt: Date;
  readonly deliveries: readonly PublicationDelivery[];
}

/**
 * Reads publications back, each by its identity, or else by its event id.
 *
 * @returns One entry for each name, in their order; undefined where nothing is recorded.
 */
export async function readPublications(
  sql: Sql,
  schema: SchemaName,
  names: readonly PublicationName[],
): Promise<readonly (RecordedPublication | undefined)[]> {
  const { rows } = await sql<
    Omit<RecordedPublication, 'publishedAt' | 'deliveries'> & {
      index: number;
      publishedAt: Date | string;
      deliveries: string;
    }
  >(
    `SELECT (w.position - 1)::integer AS index, p.publication, p.event_id AS "eventId", p.type, p.digest,
            p.published_at AS "publishedAt",
            (SELECT coalesce(json_agg(json_build_object('endpoint', d.endpoint, 'state', d.state) ORDER BY d.endpoint), '[]')
             FROM ${schema}.publication_deliveries d
             WHERE d.tenant = p.tenant AND d.publication = p.publication)::text AS deliveries
     FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (tenant, publication, event_id, position)
     CROSS JOIN LATERAL (
       SELECT * FROM ${schema}.publications p
       WHERE p.tenant = w.tenant AND (p.publication = w.publication OR p.event_id = w.event_id)
       ORDER BY (p.publication = w.publication) DESC LIMIT 1
     ) p`,
    [
      names.map(({ tenant }) => tenant),
      names.map(({ publication }) => publication),
      names.map(({ eventId }) => eventId),
    ],
  );
  const found = new Map(
    rows.map(({ index, publishedAt, deliveries, ...row }) => [
      index,
      { ...row, publishedAt: new Date(publishedAt), deliveries: JSON.parse(deliveries) as PublicationDelivery[] },
    ]),
  );
  return names.map((_, index) => found.get(index));
}
