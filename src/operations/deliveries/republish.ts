import { dataDigest } from '../../effects/data-digest.js';
import { encodeResult } from '../../effects/encode-result.js';
import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { checkPublication } from '../../identity/publication-identity.js';
import type { TransactionLimits } from '../../ledger/database.js';
import { keepOnlyEndpoint } from '../../ledger/publication-deliveries/keep-only-endpoint.js';
import { type PublishedMessage, readMessage } from '../../ledger/publication-deliveries/read-message.js';
import type { NewPublication } from '../../ledger/publications/insert-publications.js';
import { recordPublication } from '../../ledger/publications/record-publication.js';
import { recordAct } from '../../ledger/record-act.js';
import { defaultEventId } from '../../publisher/build-publication.js';
import type { Published } from '../../publisher/publication.js';
import { publishedAs } from '../../publisher/publish.js';
import { candidatePatterns } from '../../publisher/type-pattern.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { parseLossless } from '../../sources/parse-lossless.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { publicationActKey } from './act-keys.js';
import { type ActOptions, readActOptions } from './read-act-options.js';

/** Under which identity a message is published anew, by whom, and why. */
export interface RepublishOptions extends ActOptions {
  /** The new publication identity. Republishing under it again is harmless. */
  readonly as: string;
  /** To this endpoint alone. Default: to all that subscribe to the type now. */
  readonly endpoint?: string;
}

const known: readonly (keyof RepublishOptions)[] = ['by', 'reason', 'id', 'as', 'endpoint'];

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
 * `publication_conflict` where the new identity has other content, `replay_refused` without who or why;
 * `ledger_unavailable`, `migration_missing`.
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
    const published = await database.transaction(async (_tx, sql) => {
      const record = await recordPublication(sql, schema, built);
      const done = publishedAs(built, record);
      await recordAct(sql, schema, {
        tenant,
        id: act.id,
        kind: 'republish',
        eventKey: publicationActKey(tenant, from),
        actor: act.by,
        reason: act.reason,
        seen: JSON.stringify({ as: publication, ...(endpoint === undefined ? {} : { endpoint }) }),
        outcome: done.path,
      });
      if (endpoint === undefined) return done;
      if (record.created) await keepOnlyEndpoint(sql, schema, { tenant, publication, endpoint });
      const deliveries = done.deliveries.filter((delivery) => delivery.endpoint === endpoint);
      // Thrown inside, so that nothing is published then.
      if (deliveries.length === 0) throw notSubscribed(endpoint, message.type);
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

function notSubscribed(endpoint: string, type: string): OnefoldError {
  return new OnefoldError(
    'publication_invalid',
    `the tenant has no endpoint ${JSON.stringify(endpoint)} that subscribes to '${type}'`,
  );
}
