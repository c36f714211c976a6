import { randomUUID } from 'node:crypto';
import { ledgerNames } from '../effects/catalogue.js';
import type { Effect } from '../effects/effect.js';
import { encodeResult } from '../effects/encode-result.js';
import { OnefoldError } from '../errors.js';
import { businessKey as checkedBusinessKey } from '../identity/business-identity.js';
import { checkTenant } from '../identity/check-tenant.js';
import type { Sql, TransactionLimits } from '../ledger/database.js';
import { forgetClaim } from '../ledger/forget-claim.js';
import { lockClaim } from '../ledger/lock-claim.js';
import type { ClaimIdentity, ClaimRecord } from '../ledger/read-claim.js';
import { readAct, recordAct } from '../ledger/record-act.js';
import { type ResolvedAs, resolveClaim } from '../ledger/resolve-claim.js';
import { storableText } from '../ledger/storable-text.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import type { OperationsContext } from './context.js';
import { operationFailure } from './operation-failure.js';
import { readResolvable } from './read-resolvable.js';
import { type ToldEvent, tellWaiting } from './tell-waiting.js';

/** The effect that a person speaks about. */
export interface NamedEffect {
  /** Its name or a former one; one that no configuration has is taken as the ledger has it. */
  readonly effect: string;
  readonly businessKey: string;
  /** Default ''. */
  readonly tenant?: string;
}

/** What a person found out about an effect whose outcome was unknown. */
export type ResolveVerdict =
  /** It happened, and this is what the call would have returned: a JSON value of at most 1 MiB. Default `null`. */
  | { readonly outcome: 'done'; readonly result?: unknown }
  /** It did not happen, and no earlier attempt can make it happen any more. It is performed anew, under a new key. */
  | { readonly outcome: 'absent' };

/** Who says it, and how they know. */
export interface ResolveAct {
  /** Who says it; recorded. */
  readonly by: string;
  /** How they know; recorded. */
  readonly reason: string;
  /** Identity of this act: the same id again is the same act, whose outcome is answered. Default: a new one. */
  readonly id?: string;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

/** Options of `onefold.resolve`. */
export type ResolveOptions = ResolveVerdict & ResolveAct & Pick<NamedEffect, 'tenant'>;

/** Where the effect stood before a person spoke; kept with the act. */
export interface ResolveSeen {
  readonly effect: string;
  readonly businessKey: string;
  /** The name that the ledger has it under, where it was renamed since. */
  readonly recordedAs?: string;
  readonly state: ClaimRecord['state'];
  /** `source/event-id` of the event whose attempt it was. */
  readonly event: string;
  readonly eventKey: string;
  /** ISO 8601: begin of the latest attempt. */
  readonly attemptedAt: string;
}

/** What came of it. */
export interface ResolveOutcome {
  readonly effect: string;
  readonly businessKey: string;
  readonly tenant: string;
  /** Identity of the act. */
  readonly id: string;
  readonly seen: ResolveSeen;
  /**
   * `done`: it counts as done, with the result given. `performed`: the same, and the next attempt writes the effect's
   * commit and completes. `absent`: the next attempt performs it.
   */
  readonly outcome: 'done' | 'performed' | 'absent';
  /** The outcome is what it would be: nothing was changed. */
  readonly dryRun?: true;
  /** Events that wait for this key, and what they were told; none after a dry run. */
  readonly waiting: readonly ToldEvent[];
  /** False where some of them could not be told. They look for themselves in time; the same id again tells them anew. */
  readonly toldAll: boolean;
}

/** Of the whole transaction, which waits for a completion that is just committing. */
const limitMs = 10_000;

/**
 * Says what became of an effect whose outcome nobody but a person can tell, and lets every event that waits for it go on.
 *
 * Decided under the row's lock and recorded as an act, in one transaction. The waiting events are told after its commit: a
 * process that dies in between has lost nothing, since a parked workflow looks for itself in time, and the same command
 * tells them again. One that was dead-lettered for it is started again, once per act.
 *
 * @throws {OnefoldError} `claim_unknown` when the effect was never begun under this key; `resolve_refused` when it is
 * done, when an attempt is under way, and when nothing about it is unknown; `result_not_json`, `result_too_large`,
 * `business_key_invalid`, `identity_invalid`, `config_invalid`, `ledger_unavailable`, `migration_missing`.
 */
export async function resolveEffect(
  context: OperationsContext,
  named: NamedEffect,
  verdict: ResolveVerdict,
  act: ResolveAct,
): Promise<ResolveOutcome> {
  refuseUnknownOptions(named, ['effect', 'businessKey', 'tenant'], 'resolve');
  refuseUnknownOptions(act, ['by', 'reason', 'id', 'dryRun'], 'resolve');
  checkVerdict(verdict);
  if (act.by.trim() === '' || act.reason.trim() === '' || act.id?.trim() === '') {
    throw new OnefoldError('resolve_refused', 'it needs who says so, how they know, and an id that is not blank');
  }
  const effect = context.catalogue.effect(named.effect);
  const subject: Subject = {
    effect,
    name: effect?.name ?? named.effect,
    identity: {
      tenant: checkTenant(named.tenant ?? ''),
      names: effect ? ledgerNames(effect) : [named.effect],
      businessKey: checkedBusinessKey(named.businessKey),
    },
    becomes: becomes(effect, verdict),
  };
  try {
    return await resolve(context, subject, {
      ...act,
      by: storableText(act.by),
      reason: storableText(act.reason),
      id: storableText(act.id ?? randomUUID()),
    });
  } catch (error) {
    throw operationFailure(error);
  }
}

/** Splits the options of `onefold.resolve` into what they are about. */
export function readResolveOptions(
  options: ResolveOptions,
): readonly [Pick<NamedEffect, 'tenant'>, ResolveVerdict, ResolveAct] {
  refuseUnknownOptions(options, ['outcome', 'result', 'tenant', 'by', 'reason', 'id', 'dryRun'], 'resolve');
  const { tenant, by, reason, id, dryRun, ...verdict } = options;
  return [
    tenant === undefined ? {} : { tenant },
    verdict,
    { by, reason, ...(id === undefined ? {} : { id }), ...(dryRun === undefined ? {} : { dryRun }) },
  ];
}

/** What is spoken about, and what it is to become. */
interface Subject {
  readonly effect: Effect | undefined;
  readonly name: string;
  readonly identity: ClaimIdentity;
  readonly becomes: ResolvedAs;
}

type Act = ResolveAct & { readonly id: string };

function checkVerdict(verdict: ResolveVerdict): void {
  const { outcome } = verdict as { readonly outcome: unknown };
  if (outcome !== 'done' && outcome !== 'absent') {
    throw new OnefoldError('config_invalid', `resolve: outcome is 'done' or 'absent', got ${JSON.stringify(outcome)}`);
  }
  refuseUnknownOptions(verdict, outcome === 'done' ? ['outcome', 'result'] : ['outcome'], `resolve as ${outcome}`);
}

function becomes(effect: Effect | undefined, verdict: ResolveVerdict): ResolvedAs {
  if (verdict.outcome === 'absent') return { state: 'released' };
  // A local write has a commit too, and who says that it is done says so of that.
  const state = effect?.kind === 'external' && effect.commit ? 'performed' : 'done';
  return { state, result: encodeResult(verdict.result) };
}

async function resolve(context: OperationsContext, subject: Subject, act: Act): Promise<ResolveOutcome> {
  const { query } = context.ledger.database;
  const { name, identity } = subject;
  const spoken = { effect: name, businessKey: identity.businessKey, tenant: identity.tenant, id: act.id };
  if (act.dryRun) {
    const seen = seenAs(subject, await readResolvable(context, query, name, identity));
    return { ...spoken, seen, outcome: verdictOf(subject), dryRun: true, waiting: [], toldAll: true };
  }
  const { seen, outcome } = await carryOut(context, subject, act);
  const told = await tellWaiting(context, identity, { ...act, effect: name, leftBy: seen.eventKey });
  return { ...spoken, seen, outcome, ...told };
}

function verdictOf({ becomes: { state } }: Subject): ResolveOutcome['outcome'] {
  return state === 'released' ? 'absent' : state;
}

/** Writes the verdict and the act, or finds the act written. */
async function carryOut(context: OperationsContext, subject: Subject, act: Act): Promise<Carried> {
  const { database, schema } = context.ledger;
  const { name, identity, effect } = subject;
  const outcome = verdictOf(subject);
  const limits: TransactionLimits = {
    statementTimeoutMs: limitMs,
    lockTimeoutMs: limitMs,
    idleTimeoutMs: limitMs,
    signal: AbortSignal.timeout(limitMs),
  };
  const carried = await database.transaction(async (_tx, sql): Promise<Carried> => {
    await lockClaim(sql, schema, identity);
    // After the lock: the same command given twice at once has been carried out by the other by now.
    const earlier = await readEarlier(context, sql, subject, act);
    if (earlier) return earlier;
    const seen = seenAs(subject, await readResolvable(context, sql, name, identity));
    if (effect?.kind === 'local' && outcome === 'absent') await forgetClaim(sql, schema, identity);
    else await resolveClaim(sql, schema, identity, subject.becomes);
    const recorded = await recordAct(sql, schema, {
      tenant: identity.tenant,
      id: act.id,
      kind: 'resolve',
      eventKey: seen.eventKey,
      actor: act.by,
      reason: act.reason,
      seen: JSON.stringify(seen),
      outcome,
    });
    // The id was given to another act at this very moment.
    if (!recorded) throw anotherAct(act.id);
    return { seen, outcome, fresh: true };
  }, limits);
  if (carried.fresh) {
    const { businessKey, tenant } = identity;
    const { eventKey, state } = carried.seen;
    const { by, reason } = act;
    context.log.info(
      { eventKey, effect: name, businessKey, tenant, act: act.id, by, reason, state, outcome },
      'effect.resolved',
    );
  }
  return carried;
}

/** How an act was carried out: now, or when the same command was given before. */
interface Carried {
  readonly seen: ResolveSeen;
  readonly outcome: ResolveOutcome['outcome'];
  readonly fresh?: true;
}

/** The same act as it was carried out before; undefined where it was not. */
async function readEarlier(
  context: OperationsContext,
  sql: Sql,
  subject: Subject,
  { id }: Act,
): Promise<Carried | undefined> {
  const { name, identity } = subject;
  const act = await readAct(sql, context.ledger.schema, identity.tenant, id);
  if (!act) return undefined;
  if (act.kind !== 'resolve') throw anotherAct(id);
  const seen = JSON.parse(act.seen) as ResolveSeen;
  const same = seen.businessKey === identity.businessKey && identity.names.includes(seen.recordedAs ?? seen.effect);
  if (!same) throw anotherAct(id);
  const outcome = act.outcome as ResolveOutcome['outcome'];
  // Whether it has a commit is the configuration's; whether it happened is the person's.
  if ((outcome === 'absent') !== (verdictOf(subject) === 'absent')) {
    throw new OnefoldError('resolve_refused', `the act ${id} said the opposite of '${name}': it is ${outcome}`);
  }
  return { seen, outcome };
}

function anotherAct(id: string): OnefoldError {
  return new OnefoldError('resolve_refused', `the id ${id} is that of another act`);
}

function seenAs({ name, identity }: Subject, claim: ClaimRecord): ResolveSeen {
  return {
    effect: name,
    businessKey: identity.businessKey,
    ...(claim.effect === name ? {} : { recordedAs: claim.effect }),
    state: claim.state,
    event: claim.event,
    eventKey: claim.eventKey,
    attemptedAt: claim.claimedAt.toISOString(),
  };
}
