import { dataDigest } from '../../effects/data-digest.js';
import { encodeResult } from '../../effects/encode-result.js';
import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { checkEndpoint, checkPublication } from '../../identity/publication-identity.js';
import type { Sql, TransactionLimits } from '../../ledger/database.js';
import { keepOnlyEndpoint } from '../../ledger/publication-deliveries/keep-only-endpoint.js';
import { type PublishedMessage, readMessage } from '../../ledger/publication-deliveries/read-message.js';
import type { NewPublication } from '../../ledger/publications/insert-publications.js';
import { recordPublication } from '../../ledger/publications/record-publication.js';
import { readAct, recordAct, setActOutcome } from '../../ledger/record-act.js';
import type { SchemaName } from '../../ledger/schema-name.js';
import { defaultEventId } from '../../publisher/build-publication.js';
import type { Published } from '../../publisher/publication.js';
import { publishedAs } from '../../publisher/publish.js';
import { candidatePatterns } from '../../publisher/type-pattern.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { parseLossless } from '../../sources/parse-lossless.js';
import { publicationActKey } from '../act-keys.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';

/** Under which identity a message is published anew, by whom, and why. */
export interface RepublishOptions extends ActOptions {
  /** The new publication identity. Republishing under it again is harmless. */
  readonly as: string;
  /** To this endpoint alone. Default: to all that subscribe to the type now. */
  readonly endpoint?: string;
}

const known: readonly (keyof RepublishOptions)[] = ['by', 'reason', 'id', 'as', 'endpoint'];

/** What an act was about; another wish cannot have its id. */
interface Seen {
  readonly as: string;
  readonly endpoint?: string;
}

/** What came of it. */
export interface RepublishOutcome extends Published {
  readonly tenant: string;
  /** The publication whose message it is. */
  readonly from: string;
  /** Identity of the wish. */
  readonly id: string;
}

/** A few short statements. */
const limits: TransactionLimits = { statementTimeoutMs: 10_000, lockTimeoutMs: 10_000, idleTimeoutMs: 10_000 };

/**
 * Publishes the message of a publication once more as a new event: same type and data, a new publication identity, a new
 * event identity and timestamp. Receivers therefore take it for another event and act on it again, which is what
 * `replayDelivery` never makes them do.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option, `identity_invalid`, `publication_unknown`,
 * `publication_invalid` where the new identity is the old one, or the endpoint named does not subscribe to the type,
 * `publication_conflict` where the new identity has other content or went to other endpoints, `replay_refused` without who or
 * why, and for the id of another act; `ledger_unavailable`, `migration_missing`.
 */
export async function republish(
  context: OperationsContext,
  name: { readonly tenant?: string; readonly publication: string },
  options: RepublishOptions,
): Promise<RepublishOutcome> {
  refuseUnknownOptions(options, known, 'republishing');
  const { as, endpoint, ...wish } = options;
  const act = readActOptions(wish);
  const tenant = checkTenant(name.tenant ?? '');
  const from = checkPublication(name.publication);
  const publication = checkPublication(as);
  if (endpoint !== undefined) checkEndpoint(endpoint);
  if (publication === from) {
    throw new OnefoldError(
      'publication_invalid',
      `${JSON.stringify(as)} is the publication itself: give a new identity`,
    );
  }
  const { database, schema } = context.ledger;
  try {
    const message = await readMessage(database.query, schema, { tenant, publication: from });
    if (!message) {
      throw new OnefoldError('publication_unknown', `the ledger has no publication ${JSON.stringify(from)}`);
    }
    const built = rebuilt(message, { tenant, publication, cause: { republished: from, by: act.by, act: act.id } });
    const seen: Seen = { as: publication, ...(endpoint === undefined ? {} : { endpoint }) };
    const published = await database.transaction(async (_tx, sql) => {
      const isFirst = await insistOnAct(sql, schema, act, { tenant, from, seen });
      const record = await recordPublication(sql, schema, built);
      const done = publishedAs(built, record);
      if (isFirst) await setActOutcome(sql, schema, { tenant, id: act.id, outcome: done.path });
      if (endpoint === undefined) return done;
      const deliveries = done.deliveries.filter((delivery) => delivery.endpoint === endpoint);
      // Thrown inside, so that nothing is published or recorded then.
      if (deliveries.length === 0) throw record.created ? notSubscribed(endpoint, message.type) : wentElsewhere(done);
      if (!record.created) return done;
      await keepOnlyEndpoint(sql, schema, { tenant, publication, endpoint });
      return { ...done, deliveries };
    }, limits);
    const { eventId, path } = published;
    context.log.info(
      { publication, eventId, from, act: act.id, by: act.by, reason: act.reason, path },
      'publication.republished',
    );
    return { tenant, from, id: act.id, ...published };
  } catch (error) {
    throw operationFailure(error);
  }
}

/**
 * Records the act, or refuses where its id is that of another wish.
 *
 * @returns Whether it is recorded by this call.
 */
async function insistOnAct(
  sql: Sql,
  schema: SchemaName,
  { id, by, reason }: Required<ActOptions>,
  { tenant, from, seen }: { readonly tenant: string; readonly from: string; readonly seen: Seen },
): Promise<boolean> {
  const eventKey = publicationActKey(tenant, from);
  const isFirst = await recordAct(sql, schema, {
    tenant,
    id,
    kind: 'republish',
    eventKey,
    actor: by,
    reason,
    seen: JSON.stringify(seen),
    outcome: 'asked',
  });
  if (isFirst) return true;
  const act = await readAct(sql, schema, tenant, id);
  if (act?.kind !== 'republish' || act.eventKey !== eventKey) {
    throw new OnefoldError('replay_refused', `the id ${id} is that of another act: ${act?.kind} of ${act?.eventKey}`);
  }
  const first = JSON.parse(act.seen) as Seen;
  if (first.as !== seen.as || first.endpoint !== seen.endpoint) {
    const to = first.endpoint === undefined ? 'all that subscribe' : first.endpoint;
    throw new OnefoldError(
      'replay_refused',
      `the id ${id} is that of another wish: to publish it as ${JSON.stringify(first.as)} to ${to}`,
    );
  }
  return false;
}

function rebuilt(
  { type, body, retried, pausesMs, elapsedMs }: PublishedMessage,
  { tenant, publication, cause }: { tenant: string; publication: string; cause: object },
): NewPublication {
  // Every number keeps its digits. The catalogue is not asked: the message was judged when it was published.
  const { data } = parseLossless(body) as { readonly data: unknown };
  const eventId = defaultEventId(tenant, publication);
  return {
    tenant,
    publication,
    eventId,
    type,
    digest: dataDigest({ type, data, eventId, retried }),
    body: `{"type":${JSON.stringify(type)},"timestamp":"${new Date().toISOString()}","data":${encodeResult(data)}}`,
    retried,
    pausesMs,
    elapsedMs,
    cause: JSON.stringify(cause),
    patterns: candidatePatterns(type),
  };
}

/** A message names at most so many endpoints. */
const endpointsNamed = 5;

function wentElsewhere({ publication, publishedAt, deliveries }: Published): OnefoldError {
  const named = deliveries.slice(0, endpointsNamed).map(({ endpoint }) => endpoint);
  const rest = deliveries.length - named.length;
  const to = named.length === 0 ? 'no endpoint' : `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  return new OnefoldError(
    'publication_conflict',
    `${JSON.stringify(publication)} was published at ${publishedAt.toISOString()} already, to ${to}; a new intent needs a new publication identity`,
  );
}

function notSubscribed(endpoint: string, type: string): OnefoldError {
  return new OnefoldError(
    'publication_invalid',
    `the tenant has no endpoint ${JSON.stringify(endpoint)} that subscribes to '${type}'`,
  );
}
