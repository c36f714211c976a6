import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { insertPublications, type NewPublication } from './insert-publications.js';
import { type RecordedPublication, readPublications } from './read-publications.js';

/** What a publication is after it was recorded, or found. */
export interface PublicationRecord extends RecordedPublication {
  /** False where it, or another one with the same event id, was there before: compare the digests. */
  readonly created: boolean;
}

/** A row that stood in the way and is gone when it is looked for was removed in between; this often, something else is wrong. */
const rounds = 3;

/**
 * Records one publication with its deliveries, or reads back what is recorded under its identity or its event id. One
 * statement where it is new, two where it is not.
 *
 * @throws See {@link recordPublications}.
 */
export async function recordPublication(
  sql: Sql,
  schema: SchemaName,
  publication: NewPublication,
): Promise<PublicationRecord> {
  const [record] = await recordPublications(sql, schema, [publication]);
  return record as PublicationRecord;
}

/**
 * Records publications with their deliveries, or reads back what is recorded under their identities or event ids. The
 * reading is a statement of its own: the first one's snapshot may be from before the row that it waited for.
 *
 * @param publications Distinct by tenant and publication.
 * @returns One record for each, in their order.
 * @throws See `insertPublications`.
 */
export async function recordPublications(
  sql: Sql,
  schema: SchemaName,
  publications: readonly NewPublication[],
): Promise<readonly PublicationRecord[]> {
  const records: PublicationRecord[] = [];
  let missing = publications.map((_, index) => index);
  for (let round = 0; missing.length > 0; round++) {
    if (round === rounds) throw new Error('publications were removed as fast as they were written');
    const wanted = missing.map((index) => publications[index] as NewPublication);
    for (const { index, publishedAt, endpoints } of await insertPublications(sql, schema, wanted)) {
      const { publication, eventId, type, digest } = wanted[index] as NewPublication;
      const deliveries = endpoints.map((endpoint) => ({ endpoint, state: 'queued' as const }));
      const created = { created: true, publication, eventId, type, digest, publishedAt, deliveries };
      records[missing[index] as number] = created;
    }
    missing = missing.filter((index) => records[index] === undefined);
    if (missing.length === 0) break;
    const names = missing.map((index) => publications[index] as NewPublication);
    for (const [nth, found] of (await readPublications(sql, schema, names)).entries()) {
      if (found) records[missing[nth] as number] = { created: false, ...found };
    }
    missing = missing.filter((index) => records[index] === undefined);
  }
  return records;
}
