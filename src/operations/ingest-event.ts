import { OnefoldError } from '../errors.js';
import { displayEvent, eventKey } from '../identity/event-identity.js';
import { readAct, recordAct, setActOutcome } from '../ledger/record-act.js';
import type { DeliveryPath } from '../receiver/delivery-path.js';
import { matchEffects } from '../receiver/match-effects.js';
import { refuseUnknownOptions } from '../runtime/options.js';
import { sha256 } from '../runtime/sha256.js';
import type { Source } from '../sources/define-source.js';
import type { Identified } from '../sources/source.js';
import type { OperationsContext } from './context.js';
import { type EventState, readEventState } from './event-state.js';
import { operationFailure } from './operation-failure.js';
import { readActOptions } from './read-act-options.js';
import type { NamedEvent } from './read-event-name.js';
import { takeUnsigned } from './take-unsigned.js';
import { type IngestPayload, type UnsignedEvent, unsignedDelivery } from './unsigned-delivery.js';
import { unsignedTenant } from './unsigned-tenant.js';

/** Who hands an event in and why, and what of the event does not stand in its body. */
export interface IngestOptions extends UnsignedEvent {
  /** Who asks for it; recorded. */
  readonly by: string;
  /** Why; recorded. */
  readonly reason: string;
  /** Where the source's tenant is a function that cannot tell it without the request. */
  readonly tenant?: string;
  /** Identity of this wish: the same again is the same wish, whose outcome is answered. Default: a new one. */
  readonly act?: string;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

const known: readonly (keyof IngestOptions)[] = ['by', 'reason', 'id', 'type', 'headers', 'tenant', 'act', 'dryRun'];

/** What came of handing an event in. */
export interface IngestOutcome {
  /** `source/event-id`. */
  readonly event: string;
  readonly eventKey: string;
  readonly type: string;
  /** The effects that subscribe to it. */
  readonly effects: readonly string[];
  /** Where the event stood before: its state in the ledger and in Temporal. */
  readonly state: { readonly ledger: string; readonly temporal: string };
  /** What the delivery was to its event; of a dry run, what it would be. */
  readonly path: DeliveryPath;
  /** How the event has ended, where it has. */
  readonly outcome?: string;
  /** The event is known with another body than this one. */
  readonly bodyDiffers: boolean;
  /** Identity of the wish. */
  readonly act: string;
  /** Nothing was changed. */
  readonly dryRun?: true;
}

/** Everything that is asked of Temporal beforehand. */
const temporalWithinMs = 30_000;

/**
 * Takes an event that its provider has given up on, handed in by a person: by the same path as a delivery from the point
 * where its signature would have held. It gets the identity that a redelivery would have, so whichever comes second is the
 * duplicate. Its row and log line say that it was not signed, and by which act it came. Needs no secret. Never waits for the
 * event's end, whatever the source acknowledges with.
 *
 * @param sourceName The source that reads it.
 * @param payload The body as the provider sent it, if it is to be had: of a known event another spelling is another body.
 * @throws {OnefoldError} `ingest_refused`, `unknown_source`, `config_invalid` for an unknown option; what the source refuses
 * a body for (`identity_missing`, `type_missing`, `body_malformed`, `body_too_deep`, `body_too_large`, `identity_invalid`);
 * `body_differs` where it refuses that; `temporal_unavailable`, `start_refused`, `ledger_unavailable`, `migration_missing`.
 */
export async function ingestEvent(
  context: OperationsContext,
  sourceName: string,
  payload: IngestPayload,
  options: IngestOptions,
): Promise<IngestOutcome> {
  refuseUnknownOptions(options, known, 'ingest');
  const wish = readActOptions(
    { by: options.by, reason: options.reason, ...(options.act === undefined ? {} : { id: options.act }) },
    'ingest_refused',
  );
  const source = context.catalogue.source(sourceName);
  if (!source) {
    const names = context.catalogue.sources.map(({ name }) => name).join(', ');
    throw new OnefoldError('unknown_source', `no source '${sourceName}' in the configuration; it has ${names}`);
  }
  const verified = unsignedDelivery(source, payload, options);
  const tenant = unsignedTenant(source, verified, options.tenant);
  const { identified, request } = verified;
  const identity = { tenant, source: source.name, id: identified.id };
  const event: NamedEvent = { ...identity, eventKey: eventKey(identity, sha256) };
  try {
    return await ingest(context, { source, event, identified, digest: sha256(request.rawBody) }, wish, options);
  } catch (error) {
    throw operationFailure(error);
  }
}

/** An event that is handed in. */
interface Handed {
  readonly source: Source;
  readonly event: NamedEvent;
  readonly identified: Identified;
  readonly digest: string;
}

/** What is shown before the act, and kept with it. */
type Seen = Pick<IngestOutcome, 'type' | 'effects' | 'state' | 'bodyDiffers'>;

async function ingest(
  context: OperationsContext,
  handed: Handed,
  { by, reason, id: act }: { readonly by: string; readonly reason: string; readonly id: string },
  { act: givenAct, dryRun }: IngestOptions,
): Promise<IngestOutcome> {
  const { source, event, identified, digest } = handed;
  const { tenant } = event;
  const { database, schema } = context.ledger;
  const named = { event: displayEvent(event), eventKey: event.eventKey, act };
  const earlier = givenAct === undefined || dryRun ? undefined : await outcomeOfEarlier(context, event, act);
  if (earlier) return { ...named, ...earlier };

  const state = await context.client.withDeadline(Date.now() + temporalWithinMs, () => readEventState(context, event));
  const matched = matchEffects(source, context.catalogue.effects, identified);
  const seen: Seen = {
    ...matched,
    state: {
      ledger: state.recorded?.state ?? 'unknown',
      temporal: state.execution?.status.name.toLowerCase() ?? 'unknown',
    },
    bodyDiffers: knownDigests(state).some((recorded) => recorded !== digest),
  };
  if (dryRun) return { ...named, ...seen, path: expectedPath(matched.effects, state), dryRun: true };

  await recordAct(database.query, schema, {
    tenant,
    id: act,
    kind: 'ingest',
    eventKey: event.eventKey,
    actor: by,
    reason,
    seen: JSON.stringify(seen),
    outcome: 'asked',
  });
  const taken = await takeUnsigned(context, { source, identified, eventKey: event.eventKey, tenant, digest, act });
  const outcome = taken.refused ? taken.refused.code : taken.path;
  await setActOutcome(database.query, schema, { tenant, id: act, outcome });
  const { eventKey: key } = event;
  context.log.info({ eventKey: key, event: named.event, act, by, reason, outcome }, 'webhook.ingested');
  if (taken.refused) throw taken.refused;
  const { path, bodyDiffers } = taken;
  return { ...named, ...seen, path, bodyDiffers, ...(taken.outcome === undefined ? {} : { outcome: taken.outcome }) };
}

const paths: readonly string[] = [
  'first_run',
  'retry_after_failure',
  'duplicate_done',
  'in_progress_elsewhere',
  'ignored',
] satisfies readonly DeliveryPath[];

/**
 * A repeated command: what became of the first. Undefined where the act was never recorded, was refused, or was recorded by a
 * process that died in it: handing the event in again is what the wish asks for then.
 */
async function outcomeOfEarlier(
  { ledger }: OperationsContext,
  event: NamedEvent,
  id: string,
): Promise<(Seen & { readonly path: DeliveryPath }) | undefined> {
  const act = await readAct(ledger.database.query, ledger.schema, event.tenant, id);
  if (!act) return undefined;
  if (act.eventKey !== event.eventKey || act.kind !== 'ingest') {
    throw new OnefoldError('ingest_refused', `the id ${id} is that of another act: ${act.kind} of ${act.eventKey}`);
  }
  if (!paths.includes(act.outcome)) return undefined;
  return { ...(JSON.parse(act.seen) as Seen), path: act.outcome as DeliveryPath };
}

function knownDigests({ recorded, execution }: EventState): readonly string[] {
  return [recorded?.digest, execution?.memo?.digest].filter((digest): digest is string => typeof digest === 'string');
}

/** What a delivery would be now; another one may come before it. */
function expectedPath(effects: readonly string[], { execution }: EventState): DeliveryPath {
  if (effects.length === 0) return 'ignored';
  if (!execution) return 'first_run';
  const status = execution.status.name;
  if (status === 'COMPLETED') return 'duplicate_done';
  return status === 'RUNNING' ? 'in_progress_elsewhere' : 'retry_after_failure';
}
