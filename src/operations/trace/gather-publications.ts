import { parseEventKey } from '../../identity/event-identity.js';
import { publicationKey } from '../../identity/publication-identity.js';
import { readActs } from '../../ledger/trace/read-acts.js';
import { readLetters } from '../../ledger/trace/read-letters.js';
import {
  readPublicationsOf,
  readTracedPublication,
  type TracedPublicationRow,
} from '../../ledger/trace/read-publications.js';
import { readSends } from '../../ledger/trace/read-sends.js';
import { sha256 } from '../../runtime/sha256.js';
import { publicationActKey } from '../act-keys.js';
import type { OperationsContext } from '../context.js';
import type { TracedPublication, TracedPublicationDelivery } from './trace.js';

/** What publications are asked for: what events have caused, or one of a tenant by its name; and the only tenant to tell of. */
export type PublicationsAsked =
  | { readonly causedBy: readonly string[]; readonly tenant?: string | undefined }
  | { readonly of: string; readonly publication: string; readonly tenant?: string | undefined };

/** Publications that one trace tells of, and of each delivery the attempts. */
export const publicationsAtMost = 100;
const sendsEach = 50;
const lettersEach = 10;
const actsEach = 20;

/** Reads publications with their deliveries, and what became of each: attempts, dead letters, acts. */
export async function gatherPublications(
  { ledger }: OperationsContext,
  asked: PublicationsAsked,
): Promise<readonly TracedPublication[]> {
  const { query } = ledger.database;
  const { schema } = ledger;
  const rows =
    'causedBy' in asked
      ? await readPublicationsOf(query, schema, { eventKeys: asked.causedBy, tenant: asked.tenant }, publicationsAtMost)
      : await readTracedPublication(
          query,
          schema,
          { tenant: asked.of, publication: asked.publication },
          publicationsAtMost,
        );
  if (rows.length === 0) return [];
  const deliveries = rows.flatMap((row) => (row.endpoint === null ? [] : [{ ...row, endpoint: row.endpoint }]));
  const keys = deliveries.map((one) => ({ tenant: one.tenant, key: keyOf(one) }));
  const acted = rows.map(({ tenant, publication }) => ({ tenant, key: publicationActKey(tenant, publication) }));
  const distinct = new Map([...keys, ...acted].map((key) => [JSON.stringify([key.tenant, key.key]), key]));
  const [sends, letters, acts] = await Promise.all([
    readSends(query, schema, deliveries, sendsEach),
    readLetters(query, schema, keys, lettersEach),
    readActs(query, schema, [...distinct.values()], actsEach),
  ]);
  const delivery = (row: TracedPublicationRow & { readonly endpoint: string }): TracedPublicationDelivery => {
    const { tenant, publication, endpoint } = row;
    const deliveryKey = keyOf(row);
    const actKey = publicationActKey(tenant, publication);
    return {
      endpoint,
      endpointState: row.endpointState ?? 'removed',
      deliveryKey,
      state: row.state ?? 'queued',
      attempts: row.attempts ?? 0,
      possibleArrivals: row.possibleArrivals ?? 0,
      ...(row.startedAt ? { startedAt: row.startedAt } : {}),
      ...(row.endedAt ? { endedAt: row.endedAt } : {}),
      ...(row.lastCode === null ? {} : { lastCode: row.lastCode }),
      ...(row.state === 'abandoned'
        ? { abandoned: { by: row.abandonedBy ?? '', reason: row.abandonedReason ?? '' } }
        : {}),
      sends: sends.filter((one) => {
        return one.tenant === tenant && one.publication === publication && one.endpoint === endpoint;
      }),
      deadLetters: letters.filter((one) => one.tenant === tenant && one.key === deliveryKey),
      acts: acts.filter((one) => one.tenant === tenant && (one.key === deliveryKey || one.key === actKey)),
    };
  };
  const publications = new Map<string, TracedPublication & { readonly deliveries: TracedPublicationDelivery[] }>();
  for (const row of rows) {
    const identity = JSON.stringify([row.tenant, row.publication]);
    const publication = publications.get(identity) ?? { ...published(row, asked.tenant), deliveries: [] };
    publications.set(identity, publication);
    if (row.endpoint !== null) publication.deliveries.push(delivery({ ...row, endpoint: row.endpoint }));
  }
  return [...publications.values()];
}

/** @param told The only tenant that anything is told of. What an effect published for another one has a cause of its own tenant. */
function published(row: TracedPublicationRow, told: string | undefined): Omit<TracedPublication, 'deliveries'> {
  const { tenant, publication, webhookId, type, publishedAt, cause, causedBy } = row;
  const causing = causedBy === null ? undefined : parseEventKey(causedBy)?.tenant;
  const named = { tenant, publication, webhookId, type, publishedAt };
  if (told !== undefined && causing !== undefined && causing !== told) return named;
  return {
    ...named,
    ...(cause === null ? {} : { cause: JSON.parse(cause) as NonNullable<TracedPublication['cause']> }),
    ...(causedBy === null ? {} : { causedBy }),
  };
}

function keyOf({ tenant, publication, endpoint }: { tenant: string; publication: string; endpoint: string }): string {
  return publicationKey({ tenant, publication, endpoint }, sha256);
}
