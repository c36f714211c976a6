import { ledgerNames } from '../../effects/catalogue.js';
import { parseEventKey } from '../../identity/event-identity.js';
import { parsePublicationKey } from '../../identity/publication-identity.js';
import type { Sql } from '../../ledger/database.js';
import type { SchemaName } from '../../ledger/schema-name.js';
import { findBusinessKeys } from '../../ledger/trace/find-business-keys.js';
import { findClaims } from '../../ledger/trace/find-claims.js';
import { findEvents } from '../../ledger/trace/find-events.js';
import { findPublications } from '../../ledger/trace/find-publications.js';
import { findWebhookIds } from '../../ledger/trace/find-webhook-ids.js';
import { type FoundName, type NameKind, searchNames } from '../../ledger/trace/search-names.js';
import type { OperationsContext } from '../context.js';
import { businessKeyMatches, distinctMatches, eventMatch, type Match, publicationMatch } from './matches.js';

/** What is looked for. */
export interface Wanted {
  readonly identity: string;
  /** All where it is not given. */
  readonly tenant?: string | undefined;
  /** The identity is the business key of this effect. */
  readonly effect?: string | undefined;
}

/** Of one kind; a business key may be that of many events. */
const rowsAtMost = 500;

/** Of one kind, where the name is only a part. */
const partsAtMost = 21;

/** A search that reads whole tables is given up after this. */
const searchWithinMs = 1_000;

/** Finds what a whole name means: each of the three identities is looked for in its index, side by side. */
export async function findWhole(context: OperationsContext, wanted: Wanted): Promise<readonly Match[]> {
  const { database, schema } = context.ledger;
  const found = await Promise.all(
    wanted.effect === undefined
      ? [...lookEvents(database.query, schema, wanted, true), ...lookWhole(context, wanted)]
      : [lookBusinessKey(context, wanted, wanted.effect, wanted.identity)],
  );
  return distinctMatches(found.flat());
}

/** Finds names that begin with what was given. */
export async function findBeginning(context: OperationsContext, wanted: Wanted): Promise<readonly Match[]> {
  const { identity, tenant, effect } = wanted;
  const { database, schema } = context.ledger;
  const { query } = database;
  const key = { tenant, businessKey: identity, whole: false, effects: namesOf(context, effect) };
  const found = await Promise.all([
    findBusinessKeys(query, schema, key, rowsAtMost).then(businessKeyMatches),
    ...(effect === undefined
      ? [
          ...lookEvents(query, schema, wanted, false),
          findPublications(query, schema, { tenant, publication: identity, whole: false }, partsAtMost).then((rows) =>
            rows.map(publicationMatch),
          ),
        ]
      : []),
  ]);
  return distinctMatches(found.flat());
}

/** Finds names that hold what was given, as far as that is possible within a second. */
export async function findInside(context: OperationsContext, { identity, tenant }: Wanted): Promise<readonly Match[]> {
  const { database, schema } = context.ledger;
  const limits = {
    statementTimeoutMs: searchWithinMs,
    lockTimeoutMs: searchWithinMs,
    idleTimeoutMs: searchWithinMs,
  };
  const search = (kind: NameKind): Promise<readonly FoundName[]> =>
    database
      .transaction((_tx, sql) => searchNames(sql, schema, kind, { tenant, text: identity }, partsAtMost), limits)
      // Given up after its time: the other kinds may have found something.
      .catch((error: { code?: unknown }) => {
        if (error.code === queryCanceled) return [];
        throw error;
      });
  const [events, keys, publications] = await Promise.all([
    search('event'),
    search('business_key'),
    search('publication'),
  ]);
  return distinctMatches([
    ...events.map(({ tenant: of, of: source, name, key }): Match => {
      return { kind: 'event', tenant: of, name: `${source}/${name}`, events: [{ tenant: of, key }] };
    }),
    ...businessKeyMatches(
      keys.map(({ tenant: of, of: effect, name, key }) => ({ tenant: of, effect, businessKey: name, eventKey: key })),
    ),
    ...publications.map(({ tenant: of, name }): Match => {
      return { kind: 'publication', tenant: of, name, publication: name, events: [] };
    }),
  ]);
}

/** PostgreSQL's query_canceled: its time was over. */
const queryCanceled = '57014';

/** An event as `event-id`, as `source/event-id`, or as a workflow ID. */
function lookEvents(
  sql: Sql,
  schema: SchemaName,
  { identity, tenant }: Wanted,
  whole: boolean,
): readonly Promise<readonly Match[]>[] {
  const limit = whole ? rowsAtMost : partsAtMost;
  const look = async (part: { source?: string; id: string; tenant?: string | undefined }): Promise<readonly Match[]> =>
    (await findEvents(sql, schema, { tenant, ...part, whole }, limit)).map(eventMatch);
  const key = parseEventKey(identity);
  // Who restricts the answer to a tenant is not answered about another one, whatever the name says.
  if (key) return key.id === undefined || (tenant ?? key.tenant) !== key.tenant ? [] : [look({ ...key, id: key.id })];
  const slash = identity.indexOf('/');
  const parts = slash < 1 || slash === identity.length - 1 ? [] : [slash];
  return [
    look({ id: identity }),
    ...parts.map((at) => look({ source: identity.slice(0, at), id: identity.slice(at + 1) })),
  ];
}

/** The other two identities. */
function lookWhole(context: OperationsContext, wanted: Wanted): readonly Promise<readonly Match[]>[] {
  const { identity, tenant } = wanted;
  const { database, schema } = context.ledger;
  const { query } = database;
  const delivery = parsePublicationKey(identity);
  if (delivery) {
    const { publication } = delivery;
    if (publication === undefined || (tenant ?? delivery.tenant) !== delivery.tenant) return [];
    const asked = { tenant: delivery.tenant, publication, whole: true };
    return [findPublications(query, schema, asked, rowsAtMost).then((rows) => rows.map(publicationMatch))];
  }
  const asked = { tenant, publication: identity, whole: true };
  const space = identity.indexOf(' ');
  return [
    findPublications(query, schema, asked, rowsAtMost).then((rows) => rows.map(publicationMatch)),
    findWebhookIds(query, schema, { tenant, webhookId: identity }, rowsAtMost).then((rows) =>
      rows.map(publicationMatch),
    ),
    lookBusinessKey(context, wanted, undefined, identity),
    // `effect business-key`, as logs and dead letters write it.
    ...(space < 1 ? [] : [lookBusinessKey(context, wanted, identity.slice(0, space), identity.slice(space + 1))]),
  ];
}

async function lookBusinessKey(
  context: OperationsContext,
  { tenant }: Wanted,
  effect: string | undefined,
  businessKey: string,
): Promise<readonly Match[]> {
  const { query } = context.ledger.database;
  const { schema } = context.ledger;
  const effects = namesOf(context, effect);
  const all = effects ?? context.catalogue.effects.flatMap((one) => [...ledgerNames(one)]);
  const [planned, claimed] = await Promise.all([
    findBusinessKeys(query, schema, { tenant, effects, businessKey, whole: true }, rowsAtMost),
    findClaims(query, schema, { tenant, effects: all, businessKey }, rowsAtMost),
  ]);
  // What was adopted has no event: it is only found where no event has it.
  const named = new Set(planned.map((one) => one.tenant));
  const alone = claimed.filter((one) => !named.has(one.tenant));
  return [
    ...businessKeyMatches(planned),
    ...alone.map((one): Match => {
      const { tenant: of, effect: name } = one;
      return { kind: 'business_key', tenant: of, name: businessKey, effect: name, businessKey, events: [] };
    }),
  ];
}

/** Every name that an effect has had, the one given among them; undefined where none is given. */
function namesOf({ catalogue }: OperationsContext, effect: string | undefined): readonly string[] | undefined {
  if (effect === undefined) return undefined;
  const known = catalogue.effect(effect);
  return known ? [...new Set([...ledgerNames(known), effect])] : [effect];
}
