import { type Client, isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { publicationKey } from '../identity/publication-identity.js';
import { listUnderWay } from '../ledger/endpoint-changes/list-under-way.js';
import { listUntold, type UntoldEndpoint } from '../ledger/endpoint-changes/list-untold.js';
import { noteTold } from '../ledger/endpoint-changes/note-told.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Logger } from '../runtime/logger.js';
import { sha256 } from '../runtime/sha256.js';
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

/** Deliveries of one page. */
const pageRows = 200;

/** One signal, ms. */
const signalWithinMs = 5_000;

/**
 * Tells the deliveries under way of changed endpoints to look at them: one that waits for a paused endpoint goes on at
 * once, one in a pause takes up the new schedule. It only makes that sooner: each of them looks by itself too.
 *
 * The version told is noted when all have been told, so a crash tells some of them again; several relays at once do no
 * harm either. A version that comes about meanwhile is told in the next round.
 *
 * @throws What Temporal or PostgreSQL answered; the rest is told in a later round.
 */
export async function tellChanges(deps: TellDependencies, signal?: AbortSignal): Promise<void> {
  const { database, schema } = deps.ledger;
  const untold = await listUntold(database.query, schema, endpointLimit);
  const rounds = await Promise.allSettled(untold.map((endpoint) => tellOne(deps, endpoint, signal)));
  const failed = rounds.find((round) => round.status === 'rejected');
  if (failed) throw failed.reason;
}

async function tellOne(deps: TellDependencies, changed: UntoldEndpoint, signal?: AbortSignal): Promise<void> {
  const { ledger, log } = deps;
  const { tenant, endpoint, version } = changed;
  let deliveries = 0;
  for (let after = ''; ; ) {
    const page = await listUnderWay(ledger.database.query, ledger.schema, changed, { after, limit: pageRows });
    await tellPage(deps, changed, page, signal);
    deliveries += page.length;
    if (page.length < pageRows) break;
    after = page.at(-1) ?? '';
  }
  await noteTold(ledger.database.query, ledger.schema, changed);
  log.info({ ...(tenant === '' ? {} : { tenant }), endpoint, version, deliveries }, 'endpoint.told');
}

async function tellPage(
  deps: TellDependencies,
  { tenant, endpoint }: UntoldEndpoint,
  page: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const rest = page.values();
  let failure: { readonly error: unknown } | undefined;
  const tellInTurn = async (): Promise<void> => {
    for (const publication of rest) {
      if (failure) return;
      try {
        signal?.throwIfAborted();
        await tellDelivery(deps, publicationKey({ tenant, endpoint, publication }, sha256));
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallelSignals, page.length) }, tellInTurn));
  if (failure) throw failure.error;
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
