import { sqlState } from '../effects/classify-failure.js';
import type { RegisteredTx } from '../effects/effect.js';
import { currentEffect } from '../effects/effect-scope.js';
import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import type { NewPublication } from '../ledger/publications/insert-publications.js';
import { type PublicationRecord, recordPublication } from '../ledger/publications/record-publication.js';
import type { Metrics } from '../runtime/metrics.js';
import { buildPublication, type PublicationOrigin } from './build-publication.js';
import type { PublicationCatalogue, PublicationFields, Published } from './publication.js';

/** What publishing stands on. */
export interface PublishDependencies {
  readonly ledger: Ledger<RegisteredTx>;
  readonly publications: PublicationCatalogue;
  /** Where calls are counted, by what they found. */
  readonly metrics?: PublishMetrics | undefined;
}

/** What publishing counts. */
export type PublishMetrics = Pick<Metrics, 'published'>;

/** PostgreSQL's serialization_failure and deadlock_detected: the same statement may succeed when it is tried again. */
const transientStates: ReadonlySet<string> = new Set(['40001', '40P01']);

const tries = 3;

/**
 * Publishes a message: one statement, and so one round trip, writes it together with a delivery for each subscribed
 * endpoint. Where it was published before, a second one reads what became of it. Repeating it is harmless, so whoever does
 * not hear the answer repeats it.
 *
 * @param origin Whose it is where it names no tenant, and what caused it.
 * @throws {OnefoldError} `publication_conflict` where the same publication, or another with the same event id, was published
 * with other content; `publication_invalid`, `publication_type_unknown`, `publication_too_large`, `data_invalid`,
 * `identity_invalid`; `ledger_unavailable`, after which it may be published or not.
 */
export async function publish(
  deps: PublishDependencies,
  publication: PublicationFields,
  origin = originOf(),
): Promise<Published> {
  const { database, schema } = deps.ledger;
  const built = await buildPublication(deps.publications, publication, origin);
  for (let tried = 1; ; tried++) {
    try {
      return counted(deps, publishedAs(built, await recordPublication(database.query, schema, built)));
    } catch (error) {
      if (tried === tries || !transientStates.has(sqlState(error) ?? '')) throw error;
    }
  }
}

/**
 * Publishes a message inside a transaction that the caller has open: it goes out if that commits, and leaves nothing where
 * it does not. One round trip, and a second one where it was published before.
 *
 * No error of this function but PostgreSQL's own aborts the transaction. It waits for another transaction that is just
 * publishing the same.
 *
 * @throws {OnefoldError} As {@link publish}.
 * @throws PostgreSQL's 40001 in a REPEATABLE READ or SERIALIZABLE transaction, where another one published the same
 * meanwhile: the caller's whole transaction is to be tried again, as with any other of its statements.
 */
export async function publishIn(
  deps: PublishDependencies,
  tx: RegisteredTx,
  publication: PublicationFields,
  origin = originOf(),
): Promise<Published> {
  const { database, schema } = deps.ledger;
  const built = await buildPublication(deps.publications, publication, origin);
  return counted(deps, publishedAs(built, await recordPublication(database.sqlIn(tx), schema, built)));
}

/** Counts a call: in a transaction of the caller's before its commit, which may still roll back. */
export function counted({ metrics }: PublishDependencies, published: Published): Published {
  metrics?.published.inc({ path: published.path });
  return published;
}

/**
 * Where a message comes from: the effect that the caller runs in, if any, is its cause. Never its tenant by itself, since
 * code that effects share must publish for the same tenant wherever it is called.
 */
export function originOf(tenant = ''): PublicationOrigin {
  const scope = currentEffect();
  if (!scope) return { tenant, cause: null };
  const { event, effect, businessKey, eventKey } = scope;
  return { tenant, cause: JSON.stringify({ event, effect, businessKey }), causedBy: eventKey ?? null };
}

/**
 * Says what recording a message came to.
 *
 * @throws {OnefoldError} `publication_conflict`.
 */
export function publishedAs(built: NewPublication, record: PublicationRecord): Published {
  if (record.publication !== built.publication) {
    throw new OnefoldError(
      'publication_conflict',
      `the event id '${built.eventId}' of publication '${built.publication}' belongs to publication '${record.publication}' already`,
    );
  }
  if (record.digest !== built.digest) {
    throw new OnefoldError(
      'publication_conflict',
      `'${built.publication}' was published at ${record.publishedAt.toISOString()} with other content; a new intent needs a new publication identity, such as the next version of it`,
    );
  }
  return {
    publication: record.publication,
    eventId: record.eventId,
    path: record.created ? 'published' : 'already_published',
    publishedAt: record.publishedAt,
    deliveries: record.deliveries,
  };
}
