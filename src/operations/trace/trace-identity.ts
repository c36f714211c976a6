import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { eventKey, parseEventKey } from '../../identity/event-identity.js';
import { newestEvents } from '../../ledger/trace/newest-events.js';
import type { TracedKey } from '../../ledger/trace/traced-key.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { sha256 } from '../../runtime/sha256.js';
import type { PublishingContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { findBeginning, findInside, findWhole, type Wanted } from './find-matches.js';
import { gatherLedger, joinEvents, type LedgerFacts } from './gather.js';
import { gatherPublications, publicationsAtMost } from './gather-publications.js';
import { lookAtTemporal, type SeenRuns } from './look-at-temporal.js';
import type { Match } from './matches.js';
import { judge } from './suspects.js';
import { tellTimeline } from './timeline.js';
import type { Ambiguous, Trace, Traced, TracedEvent, TracedPublication, TraceOptions } from './trace.js';
import { validActs } from './valid-acts.js';

const known: readonly (keyof TraceOptions)[] = ['tenant', 'effect', 'temporal', 'limit'];

/** Events of one trace: a business key may be that of thousands. */
const eventsAtMost = 50;

const choicesAtMost = 20;

/** More text than an identity has. */
const identityLimit = 2_000;

/**
 * Tells everything that is known of an event, a business identity or a publication, as one story: what Temporal's histories
 * of all its runs, the ledger, deliveries, dead letters and acts have of it, and the deliveries of what it published.
 *
 * The name may be any of the three identities, a workflow ID, a `webhook-id`, or part of a name. Where it may mean several
 * things, these are answered as choices. Without a tenant all of them are searched; with one, nothing of another is told.
 *
 * It waits for Temporal two seconds at most, and tells what the ledger has where no answer comes. No body and no result is
 * ever part of it.
 *
 * @throws {OnefoldError} `identity_unknown`; `identity_invalid` for a name that is blank, holds NUL or is longer than any
 * identity, and for a tenant that is none; `request_invalid` for a limit that is none; `config_invalid` for an unknown option;
 * `ledger_unavailable`, `migration_missing`.
 */
export async function traceIdentity(
  context: PublishingContext,
  identity: string,
  options: TraceOptions = {},
): Promise<Trace> {
  refuseUnknownOptions(options, known, 'trace');
  const { limit = eventsAtMost } = options;
  const wanted = readWanted(identity, options);
  if (!Number.isInteger(limit) || limit < 1 || limit > eventsAtMost) {
    throw new OnefoldError('request_invalid', `limit: expected a whole number from 1 to ${eventsAtMost}`);
  }
  try {
    const whole = await findWhole(context, wanted);
    const [only, ...others] = whole;
    if (only && others.length === 0) return await traceMatch(context, wanted, only, options);
    if (only) return choices(wanted, whole, false);
    const unplanned = await traceUnplanned(context, wanted, options);
    if (unplanned) return unplanned;
    const beginning = await findBeginning(context, wanted);
    const part = beginning.length > 0 ? beginning : await findInside(context, wanted);
    if (part.length > 0) return choices(wanted, part, true);
  } catch (error) {
    throw operationFailure(error);
  }
  const where = wanted.tenant === undefined ? '' : ` of tenant ${JSON.stringify(wanted.tenant)}`;
  throw new OnefoldError(
    'identity_unknown',
    `no event, business key or publication${where} is called ${JSON.stringify(identity)}, or has that in its name`,
  );
}

function readWanted(identity: string, { tenant, effect }: TraceOptions): Wanted {
  const blank = typeof identity !== 'string' || identity.trim() === '' || identity.includes('\0');
  if (blank || identity.length > identityLimit || effect?.includes('\0')) {
    throw new OnefoldError('identity_invalid', `expected a name of 1 to ${identityLimit} characters without NUL`);
  }
  return { identity, ...(tenant === undefined ? {} : { tenant: checkTenant(tenant) }), effect };
}

function choices({ identity }: Wanted, matches: readonly Match[], part: boolean): Ambiguous {
  return {
    outcome: 'ambiguous',
    identity,
    choices: matches
      .slice(0, choicesAtMost)
      .map(({ events: _events, publication: _p, businessKey: _k, ...choice }) => choice),
    part,
    more: matches.length > choicesAtMost,
  };
}

async function traceMatch(
  context: PublishingContext,
  wanted: Wanted,
  match: Match,
  { temporal = true, limit = eventsAtMost }: TraceOptions,
): Promise<Traced> {
  if (match.publication !== undefined) return tracePublication(context, wanted, match, match.publication, temporal);
  const { ledger } = context;
  const keys =
    match.events.length <= limit
      ? match.events
      : await newestEvents(ledger.database.query, ledger.schema, match.events, limit);
  const also =
    match.effect === undefined || match.businessKey === undefined
      ? []
      : [{ tenant: match.tenant, effect: match.effect, businessKey: match.businessKey }];
  const [facts, publications, seen] = await Promise.all([
    gatherLedger(context, keys, also),
    gatherPublications(context, { causedBy: keys.map(({ key }) => key), tenant: wanted.tenant }),
    temporal
      ? lookAtTemporal(
          context,
          keys.map(({ key }) => key),
        )
      : skipped,
  ]);
  const cut =
    keys.length < match.events.length
      ? [`only the ${keys.length} events received last are traced, of ${match.events.length} or more with this key`]
      : [];
  return tell(context, wanted, match.kind, { keys, facts, publications, seen, cut });
}

async function tracePublication(
  context: PublishingContext,
  wanted: Wanted,
  match: Match,
  publication: string,
  temporal: boolean,
): Promise<Traced> {
  const publications = await gatherPublications(context, {
    of: match.tenant,
    publication,
    tenant: wanted.tenant,
  });
  // Up the chain as well: the event whose effect published it. It may be another tenant's, who is not told of then.
  const causes = publications.flatMap(({ causedBy }) => {
    const parsed = causedBy === undefined ? undefined : parseEventKey(causedBy);
    return causedBy === undefined || !parsed ? [] : [{ tenant: parsed.tenant, key: causedBy }];
  });
  const keys = causes.filter(({ tenant }) => wanted.tenant === undefined || tenant === wanted.tenant);
  const [facts, seen] = await Promise.all([
    gatherLedger(context, keys, []),
    temporal
      ? lookAtTemporal(
          context,
          keys.map(({ key }) => key),
        )
      : skipped,
  ]);
  return tell(context, wanted, 'publication', { keys, facts, publications, seen, cut: [] });
}

const skipped: SeenRuns = { look: { state: 'skipped' }, known: new Map() };

/** Accepted, and not planned yet: only Temporal, and the evidence of its deliveries, know of it. */
async function traceUnplanned(
  context: PublishingContext,
  wanted: Wanted,
  { temporal = true }: TraceOptions,
): Promise<Traced | undefined> {
  if (wanted.effect !== undefined) return undefined;
  const keys = possibleKeys(context, wanted);
  if (keys.length === 0) return undefined;
  const [facts, seen] = await Promise.all([
    gatherLedger(context, keys, []),
    temporal
      ? lookAtTemporal(
          context,
          keys.map(({ key }) => key),
        )
      : skipped,
  ]);
  const found = keys.filter(({ key }) => {
    const runs = seen.known.get(key)?.runs ?? [];
    const rows = [facts.rows, facts.deliveries].some((list) => list.some(({ eventKey: of }) => of === key));
    return (
      rows ||
      runs.length > 0 ||
      facts.acts.some((act) => act.key === key) ||
      facts.letters.some((one) => one.key === key)
    );
  });
  if (found.length === 0) return undefined;
  const publications = await gatherPublications(context, {
    causedBy: found.map(({ key }) => key),
    tenant: wanted.tenant,
  });
  return tell(context, wanted, 'event', { keys: found, facts, publications, seen, cut: [] });
}

/** Keys that an event of this name would have. */
function possibleKeys({ catalogue }: PublishingContext, { identity, tenant }: Wanted): readonly TracedKey[] {
  const parsed = parseEventKey(identity);
  if (parsed) return (tenant ?? parsed.tenant) === parsed.tenant ? [{ tenant: parsed.tenant, key: identity }] : [];
  const slash = identity.indexOf('/');
  const named = [
    ...(slash > 0 ? [{ source: identity.slice(0, slash), id: identity.slice(slash + 1) }] : []),
    ...catalogue.sources.map(({ name }) => ({ source: name, id: identity })),
  ];
  return named.slice(0, eventsAtMost).flatMap((one) => {
    try {
      return [{ tenant: tenant ?? '', key: eventKey({ ...one, tenant: tenant ?? '' }, sha256) }];
    } catch {
      return [];
    }
  });
}

interface Gathered {
  readonly keys: readonly TracedKey[];
  readonly facts: LedgerFacts;
  readonly publications: readonly TracedPublication[];
  readonly seen: SeenRuns;
  readonly cut: readonly string[];
}

function tell(
  context: PublishingContext,
  { identity }: Wanted,
  kind: Traced['kind'],
  { keys, facts, publications, seen, cut }: Gathered,
): Traced {
  const events = joinEvents(context, keys, facts, seen);
  const at = new Date();
  const { look } = seen;
  const named = new Set(events.flatMap(({ effects }) => effects.map(({ claim }) => claim)));
  const claims = facts.claims.filter((claim) => !named.has(claim));
  return {
    outcome: 'traced',
    identity,
    kind,
    at,
    temporal: look,
    events,
    claims,
    publications,
    suspects: judge({ events, claims, publications, looked: look.state === 'looked', now: at }),
    next: validActs({ events, publications }),
    timeline: tellTimeline(events, publications),
    cut: [...cut, ...whatIsCut(events, publications)],
  };
}

function whatIsCut(events: readonly TracedEvent[], publications: readonly TracedPublication[]): string[] {
  return [
    ...events.flatMap(({ event, deliveries, runs }) => {
      const { of = 0 } = deliveries[0] ?? {};
      const missing = of - deliveries.length;
      return [
        ...(missing > 0 ? [`${event}: ${missing} deliveries between its first and its last ones are left out`] : []),
        ...runs
          .filter((run) => run.cut)
          .map(({ runId }) => `${event}: the middle of the history of run ${runId} is left out`),
      ];
    }),
    ...(publications.length === publicationsAtMost
      ? [`only the last ${publicationsAtMost} publications are traced`]
      : []),
  ];
}
