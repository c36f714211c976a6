import { OnefoldError } from '../../errors.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { checkPublication } from '../../identity/publication-identity.js';
import type { DeliveryState } from '../../ledger/publication-deliveries/delivery-row.js';
import { listEndpointsOf } from '../../ledger/publication-deliveries/list-endpoints-of.js';
import { listPublications } from '../../ledger/publication-deliveries/list-publications.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { type Interruption, interruption } from '../interruption.js';
import { operationFailure } from '../operation-failure.js';
import { readActOptions } from '../read-act-options.js';
import { readDeliveryName } from './read-delivery-name.js';
import { type ReplayDeliveryOptions, type ReplayDeliveryOutcome, registeredAttributes } from './replay-delivery.js';
import { type RefusedReplay, replayOrRefuse, replaysAtOnce } from './replay-or-refuse.js';

/** Who sends the deliveries of a publication again, and why. */
export interface ReplayPublicationOptions extends ReplayDeliveryOptions {
  /** Delivered and abandoned ones too; without it those that were dead-lettered. */
  readonly all?: boolean;
}

const known: readonly (keyof ReplayPublicationOptions)[] = ['by', 'reason', 'id', 'dryRun', 'all'];

/** What came of it, endpoint by endpoint. */
export interface ReplayPublicationOutcome {
  readonly tenant: string;
  readonly publication: string;
  /** Identity of the wish; that of each delivery's own act is `<id>/<endpoint>`. */
  readonly id: string;
  /** Each that was asked for, with its own outcome. */
  readonly deliveries: readonly (ReplayDeliveryOutcome | RefusedReplay)[];
  /**
   * `replayed`: all were asked for. `interrupted`: not all could be; the same id goes on where this stopped. `dry_run`:
   * nothing was changed.
   */
  readonly outcome: 'replayed' | 'interrupted' | 'dry_run';
  /** Why it was interrupted. */
  readonly because?: Interruption;
}

const ended: ReadonlySet<DeliveryState> = new Set(['delivered', 'dead_lettered', 'abandoned']);

/**
 * Sends a publication again to every endpoint whose delivery was dead-lettered, or to every one whose delivery has ended.
 * Repeating it under the same id is harmless, and goes on where it stopped.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown option, `identity_invalid`, `publication_unknown`,
 * `replay_refused` for a wish without who or why; `temporal_unavailable`, `ledger_unavailable`, `migration_missing` where
 * nothing was begun.
 */
export async function replayPublication(
  context: OperationsContext,
  name: { readonly tenant?: string; readonly publication: string },
  options: ReplayPublicationOptions,
): Promise<ReplayPublicationOutcome> {
  refuseUnknownOptions(options, known, 'replay of a publication');
  const { all, dryRun, ...wish } = options;
  const act = readActOptions(wish);
  const tenant = checkTenant(name.tenant ?? '');
  const publication = checkPublication(name.publication);
  const { database, schema } = context.ledger;
  const carry = { dryRun: dryRun === true, registered: registeredAttributes(context) };
  const deliveries: (ReplayDeliveryOutcome | RefusedReplay)[] = [];
  let begun = false;
  const actOf = (endpoint: string): string => `${act.id}/${endpoint}`;
  try {
    for (let after = ''; ; ) {
      const page = await listEndpointsOf(
        database.query,
        schema,
        { tenant, publication },
        { after, limit: replaysAtOnce },
      );
      if (page.length === 0) break;
      const wanted = page.filter(
        ({ endpoint, state, replay }) =>
          // What this very wish has started is asked for again, and answers its outcome.
          replay === actOf(endpoint) || (all ? ended.has(state) : state === 'dead_lettered'),
      );
      const replays = wanted.map(({ endpoint }) =>
        replayOrRefuse(
          context,
          readDeliveryName({ tenant, publication, endpoint }),
          { ...act, id: actOf(endpoint), isNew: wish.id === undefined },
          carry,
        ),
      );
      begun ||= replays.length > 0;
      const settled = await Promise.allSettled(replays);
      deliveries.push(...settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
      for (const one of settled) if (one.status === 'rejected') throw one.reason;
      after = page.at(-1)?.endpoint ?? '';
    }
    if (deliveries.length === 0) await insistOnPublication(context, tenant, publication);
  } catch (error) {
    const failure = operationFailure(error);
    if (!begun || carry.dryRun) throw failure;
    // Some may be recorded and carried out: whoever asked has to learn under which id it goes on.
    const because = interruption(failure);
    const { code, message: reason } = because;
    context.log.warn({ publication, act: act.id, code, reason }, 'publication.replay_interrupted');
    return { tenant, publication, id: act.id, deliveries, outcome: 'interrupted', because };
  }
  return { tenant, publication, id: act.id, deliveries, outcome: carry.dryRun ? 'dry_run' : 'replayed' };
}

async function insistOnPublication({ ledger }: OperationsContext, tenant: string, publication: string): Promise<void> {
  const found = await listPublications(
    ledger.database.query,
    ledger.schema,
    { tenant },
    { only: publication, limit: 1 },
  );
  if (found.length > 0) return;
  throw new OnefoldError('publication_unknown', `the ledger has no publication ${JSON.stringify(publication)}`);
}
