import { setTimeout as sleep } from 'node:timers/promises';
import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { countDeadDeliveries } from '../../ledger/publication-deliveries/count-dead-deliveries.js';
import { countUnsentDeliveries, type UnsentOf } from '../../ledger/publication-deliveries/count-unsent-deliveries.js';
import { type DeadPlace, listDeadDeliveries } from '../../ledger/publication-deliveries/list-dead-deliveries.js';
import { readAct, recordAct, setActOutcome } from '../../ledger/record-act.js';
import type { EndpointState } from '../../publisher/endpoint.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { endpointActKey } from '../act-keys.js';
import type { OperationsContext } from '../context.js';
import { getEndpoint } from '../endpoints/get-endpoint.js';
import { type Interruption, interruption } from '../interruption.js';
import { operationFailure } from '../operation-failure.js';
import { type ActOptions, readActOptions } from '../read-act-options.js';
import { readDeliveryName } from './read-delivery-name.js';
import { registeredAttributes } from './replay-delivery.js';
import { type RefusedReplay, replayOrRefuse, replaysAtOnce } from './replay-or-refuse.js';

/** Who recovers what an endpoint missed, from when on, and why. */
export interface RecoverOptions extends ActOptions {
  /** Deliveries that ended as dead letters at or after this moment. */
  readonly since: Date;
  /** And at or before this one. Default: when the act was recorded, which ends the set in any case. */
  readonly until?: Date;
  /** Only count them. */
  readonly dryRun?: boolean;
  /** Called after each few deliveries, and once a second while the endpoint has enough before it. */
  readonly onProgress?: (progress: RecoverProgress) => void;
}

const known: readonly (keyof RecoverOptions)[] = ['by', 'reason', 'id', 'since', 'until', 'dryRun', 'onProgress'];

/** How far a recovery has come. */
export interface RecoverProgress {
  /** Dead-lettered deliveries that it is about, as this command found them. */
  readonly found: number;
  /** New runs that send them. */
  readonly started: number;
  /** Of others somebody else has started a run meanwhile, or has given them up. */
  readonly lostRace: number;
  /** Others cannot be sent now. */
  readonly refused: number;
  /** Deliveries that the endpoint has before it, where the recovery waits until there are fewer. */
  readonly waitingFor?: number;
}

/** What came of a recovery. */
export interface RecoverOutcome extends RecoverProgress {
  readonly tenant: string;
  readonly endpoint: string;
  /** Identity of the wish; that of each delivery's own act is `<id>/<publication>`. */
  readonly id: string;
  readonly since: Date;
  readonly until: Date;
  /** What the endpoint takes: deliveries to a paused one are held until it is resumed. */
  readonly endpointState: EndpointState;
  /**
   * `recovered`: all that could be were started. `interrupted`: not all could be asked for; the same id goes on where this
   * stopped. `dry_run`: nothing was changed.
   */
  readonly outcome: 'recovered' | 'interrupted' | 'dry_run';
  /** Why it was interrupted. */
  readonly because?: Interruption;
  /** The first of those that were refused. */
  readonly refusals: readonly RefusedReplay[];
}

/**
 * What an endpoint may have before it when more is started: what is beyond costs nothing where it is, and as an open
 * workflow a timer and a place in queues that others stand in too.
 */
const mostUnsent = 200;
const lookEveryMs = 1000;

/** A list of every refusal would be as long as the set. */
const refusalsKept = 20;

/** What the first command was about; later ones with the same id take it from here. */
interface Seen {
  readonly since: string;
  readonly until?: string;
  readonly found: number;
}

/**
 * Sends all deliveries of an endpoint again that ended as dead letters within a time, under their event identities. The set
 * is frozen by the moment at which the act was recorded: what is dead-lettered after that, its own replays among them, is
 * not in it. A recovery that was broken off goes on under the same id, whatever `since` says then; no delivery is sent
 * twice by it.
 *
 * While the endpoint has two hundred deliveries before it, unless it is paused, no more are started, so that a long outage
 * floods neither it nor the workers.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option, `request_invalid` for a time that is none,
 * `endpoint_unknown`, `replay_refused` while the endpoint is disabled or when it was removed, without who or why, and for
 * the id of another act; `temporal_unavailable`, `ledger_unavailable`, `migration_missing` where nothing was begun.
 */
export async function recoverEndpoint(
  context: OperationsContext,
  name: { readonly tenant?: string; readonly endpoint: string },
  options: RecoverOptions,
): Promise<RecoverOutcome> {
  refuseUnknownOptions(options, known, 'recovery of an endpoint');
  const act = readActOptions(options);
  const tenant = checkTenant(name.tenant ?? '');
  for (const moment of ['since', 'until'] as const) {
    if (Number.isNaN(options[moment]?.getTime())) throw new OnefoldError('request_invalid', `${moment} is no time`);
  }
  const endpoint = { tenant, endpoint: name.endpoint };
  try {
    const endpointState = await takingState(context, endpoint);
    const { query } = context.ledger.database;
    const { schema } = context.ledger;
    const given = { since: options.since, until: options.until ?? new Date() };
    const found = await countDeadDeliveries(query, schema, { ...endpoint, ...given });
    const named = { ...endpoint, id: act.id, endpointState };
    if (options.dryRun) {
      return { ...named, ...given, found, ...nothing, outcome: 'dry_run', refusals: [] };
    }
    const recorded = await recordedSet(context, endpoint, act, options, found);
    const { at: _at, ...set } = recorded;
    const isNew = options.id === undefined;
    const ended = await replayAll(context, { ...endpoint, ...recorded }, act, options.onProgress, isNew);
    if (ended.outcome === 'recovered') await setActOutcome(query, schema, { tenant, id: act.id, outcome: 'recovered' });
    const outcome: RecoverOutcome = { ...named, ...set, ...ended };
    const { started, lostRace, refused } = ended;
    context.log.info(
      { ...endpoint, act: act.id, by: act.by, reason: act.reason, outcome: ended.outcome, started, lostRace, refused },
      'endpoint.recovered',
    );
    return outcome;
  } catch (error) {
    throw operationFailure(error);
  }
}

const nothing = { started: 0, lostRace: 0, refused: 0 } as const;

type EndpointName = Pick<RecoverOutcome, 'tenant' | 'endpoint'>;

async function takingState(
  { ledger }: OperationsContext,
  { tenant, endpoint }: EndpointName,
): Promise<'enabled' | 'paused'> {
  const { state } = await getEndpoint({ ledger }, { tenant, id: endpoint });
  if (state === 'removed') {
    throw new OnefoldError('replay_refused', `the endpoint ${endpoint} was removed: nothing can be sent to it`);
  }
  if (state === 'disabled') {
    throw new OnefoldError('replay_refused', `the endpoint ${endpoint} is disabled: enable it first`);
  }
  return state;
}

/** What a recovery is about, and when it was recorded. */
interface RecordedSet {
  readonly since: Date;
  readonly until: Date;
  readonly at: Date;
  readonly found: number;
}

/** Records the act, or reads what the one before under this id was about. */
async function recordedSet(
  { ledger }: OperationsContext,
  { tenant, endpoint }: EndpointName,
  { id, by, reason }: Required<ActOptions>,
  { since, until }: RecoverOptions,
  found: number,
): Promise<RecordedSet> {
  const { query } = ledger.database;
  const seen: Seen = { since: since.toISOString(), ...(until ? { until: until.toISOString() } : {}), found };
  const eventKey = endpointActKey(tenant, endpoint);
  await recordAct(query, ledger.schema, {
    tenant,
    id,
    kind: 'recover',
    eventKey,
    actor: by,
    reason,
    seen: JSON.stringify(seen),
    outcome: 'asked',
  });
  const act = await readAct(query, ledger.schema, tenant, id);
  if (act?.kind !== 'recover' || act.eventKey !== eventKey) {
    throw new OnefoldError('replay_refused', `the id ${id} is that of another act: ${act?.kind} of ${act?.eventKey}`);
  }
  const first = JSON.parse(act.seen) as Seen;
  const end = first.until === undefined ? act.at : new Date(Math.min(Date.parse(first.until), act.at.getTime()));
  return { since: new Date(first.since), until: end, at: act.at, found };
}

/**
 * Replays page by page. A delivery that is sent again leaves the set when its new run takes it up, and one that has not
 * yet is asked for again by a repeated command, under the same id, which is harmless.
 */
async function replayAll(
  context: OperationsContext,
  set: EndpointName & RecordedSet,
  act: Required<ActOptions>,
  onProgress: RecoverOptions['onProgress'],
  isNew: boolean,
): Promise<Omit<RecoverOutcome, keyof EndpointName | 'id' | 'since' | 'until' | 'endpointState'>> {
  const { query } = context.ledger.database;
  const carry = { dryRun: false, registered: registeredAttributes(context) };
  const counts = { started: 0, lostRace: 0, refused: 0 };
  const refusals: RefusedReplay[] = [];
  const progress = (): RecoverProgress => ({ found: set.found, ...counts });
  try {
    for (let after: DeadPlace | undefined; ; ) {
      const of = { ...set, id: act.id, ...(after ? { upTo: after } : {}) };
      await roomBefore(context, of, counts.refused, (waitingFor) => onProgress?.({ ...progress(), waitingFor }));
      const page = await listDeadDeliveries(query, context.ledger.schema, set, {
        ...(after ? { after } : {}),
        limit: replaysAtOnce,
      });
      const replays = page.map(({ publication }) =>
        replayOrRefuse(
          context,
          readDeliveryName({ ...set, publication }),
          { ...act, id: `${act.id}/${publication}`, isNew },
          carry,
        ),
      );
      for (const replay of await Promise.all(replays)) {
        if (replay.outcome === 'started') counts.started += 1;
        if (replay.outcome === 'lost_race' || replay.outcome === 'superseded') counts.lostRace += 1;
        if (replay.outcome !== 'refused') continue;
        counts.refused += 1;
        if (refusals.length < refusalsKept) refusals.push(replay);
      }
      if (page.length > 0) onProgress?.(progress());
      if (page.length < replaysAtOnce) return { ...progress(), outcome: 'recovered', refusals };
      after = page.at(-1)?.place;
    }
  } catch (error) {
    // The act is recorded and partly carried out: whoever asked has to learn under which id it goes on.
    const because = interruption(operationFailure(error));
    const { code, message: reason } = because;
    context.log.warn({ endpoint: set.endpoint, act: act.id, code, reason }, 'endpoint.recovery_interrupted');
    return { ...progress(), outcome: 'interrupted', because, refusals };
  }
}

/**
 * Waits until the endpoint has less before it. One that is paused holds what it has for as long as a person likes, which costs
 * it nothing.
 *
 * @param refused Of those asked for, which stay dead letters.
 * @throws {OnefoldError} `replay_refused` where the endpoint was disabled or removed meanwhile.
 */
async function roomBefore(
  context: OperationsContext,
  of: UnsentOf,
  refused: number,
  onWait: (unsent: number) => void,
): Promise<void> {
  for (;;) {
    const unsent = (await countUnsentDeliveries(context.ledger.database.query, context.ledger.schema, of)) - refused;
    if (unsent < mostUnsent || (await takingState(context, of)) === 'paused') return;
    onWait(unsent);
    await sleep(lookEveryMs);
  }
}
