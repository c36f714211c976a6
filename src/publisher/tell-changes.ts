import { type Client, isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { publicationKey } from '../identity/publication-identity.js';
import { listUnderWay } from '../ledger/endpoint-changes/list-under-way.js';
import { noteTold } from '../ledger/endpoint-changes/note-told.js';
import { noteToldPlace } from '../ledger/endpoint-changes/note-told-place.js';
import { takeUntold, type UntoldEndpoint } from '../ledger/endpoint-changes/take-untold.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Logger } from '../runtime/logger.js';
import { sha256 } from '../runtime/sha256.js';
import { sideBySide } from '../runtime/side-by-side.js';
import { deliveryHandlerNames } from '../workflows/delivery-contract.js';

/** What telling stands on. */
export interface TellDependencies {
  readonly ledger: Ledger;
  readonly client: Client;
  readonly log: Logger;
}

/** Endpoints of one round, told side by side, so that one with a long queue does not delay the others. */
const endpointLimit = 4;

/** Deliveries of one endpoint told side by side. With four endpoints, 16 signals are under way at most. */
const parallelSignals = 4;

/** Deliveries of one page. The place is noted behind each, within far less than the lease. */
const pageRows = 50;

/** How long an endpoint is one relay's to tell, ms, from taking it or from its last place on. */
const leaseMs = 30_000;

/** One signal, ms. */
const signalWithinMs = 5_000;

/**
 * Tells the deliveries under way of changed endpoints to look at them: one that waits for a paused endpoint goes on at
 * once, one in a pause takes up the new schedule. It only makes that sooner: each of them looks by itself too.
 *
 * Of several relays one tells an endpoint, under a lease. It notes how far it came, so that after a failure the next round
 * goes on there, and after a crash whoever takes it when the lease is over: some are told twice then, which does no harm.
 * The version told is noted when all have been told. One that comes about meanwhile is told to all in the next round.
 *
 * @throws What Temporal or PostgreSQL answered; the rest is told in a later round.
 */
export async function tellChanges(deps: TellDependencies, signal?: AbortSignal): Promise<void> {
  const { database, schema } = deps.ledger;
  const taken: UntoldEndpoint[] = [];
  while (taken.length < endpointLimit) {
    const endpoint = await takeUntold(database.query, schema, leaseMs);
    if (!endpoint) break;
    taken.push(endpoint);
  }
  const rounds = await Promise.allSettled(taken.map((endpoint) => tellOne(deps, endpoint, signal)));
  const failed = rounds.find((round) => round.status === 'rejected');
  if (failed) throw failed.reason;
}

async function tellOne(deps: TellDependencies, changed: UntoldEndpoint, signal?: AbortSignal): Promise<void> {
  const { ledger, log } = deps;
  const { query } = ledger.database;
  const { tenant, endpoint, version } = changed;
  let deliveries = 0;
  for (let { after } = changed; ; ) {
    const page = await listUnderWay(query, ledger.schema, changed, { after, limit: pageRows });
    const { told, failure } = await tellPage(deps, changed, page, signal);
    deliveries += told;
    after = page[told - 1] ?? after;
    if (failure) {
      await noteToldPlace(query, ledger.schema, { ...changed, after }, 0);
      throw failure.error;
    }
    if (page.length < pageRows) break;
    await noteToldPlace(query, ledger.schema, { ...changed, after }, leaseMs);
  }
  await noteTold(query, ledger.schema, changed);
  log.info({ ...(tenant === '' ? {} : { tenant }), endpoint, version, deliveries }, 'endpoint.told');
}

/** Tells one page. @returns How many from its beginning on were told without a gap, and why no more. */
async function tellPage(
  deps: TellDependencies,
  { tenant, endpoint }: UntoldEndpoint,
  page: readonly string[],
  signal: AbortSignal | undefined,
): Promise<{ readonly told: number; readonly failure?: { readonly error: unknown } }> {
  let firstUntold = page.length;
  try {
    await sideBySide(parallelSignals, page.entries(), async ([nth, publication]) => {
      try {
        signal?.throwIfAborted();
        await tellDelivery(deps, publicationKey({ tenant, endpoint, publication }, sha256));
      } catch (error) {
        firstUntold = Math.min(firstUntold, nth);
        throw error;
      }
    });
    return { told: page.length };
  } catch (error) {
    return { told: firstUntold, failure: { error } };
  }
}

async function tellDelivery({ client, log }: TellDependencies, deliveryKey: string): Promise<void> {
  try {
    await client.withDeadline(Date.now() + signalWithinMs, () =>
      client.workflow.getHandle(deliveryKey).signal(deliveryHandlerNames.endpointChanged),
    );
  } catch (error) {
    // It has ended, or a relay has only just begun to start it.
    if (error instanceof WorkflowNotFoundError) return;
    if (isAway(error)) throw error;
    // One workflow that takes no signal must not keep the others from being told.
    log.warn({ deliveryKey, reason: (error as Error).message }, 'delivery.untold');
  }
}

/** gRPC's CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED and UNAVAILABLE: the next signal would fare no better. */
const awayCodes: ReadonlySet<number> = new Set([1, 4, 8, 14]);

function isAway(error: unknown): boolean {
  const cause = isGrpcServiceError(error) ? error : (error as { readonly cause?: unknown } | null)?.cause;
  return isGrpcServiceError(cause) && awayCodes.has(cause.code);
}
