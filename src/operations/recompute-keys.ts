import { buildEvent } from '../effects/build-event.js';
import { businessKeyOf } from '../effects/business-key-of.js';
import { effectFor } from '../effects/catalogue.js';
import type { Effect } from '../effects/effect.js';
import type { ReceivedEvent } from '../effects/event.js';
import { OnefoldError } from '../errors.js';
import { readPayload } from '../ledger/read-payload.js';
import type { RecordedEvent } from '../ledger/read-plan.js';
import { orAborted } from '../runtime/or-aborted.js';
import type { ProcessEventInput } from '../workflows/contract.js';
import type { OperationsContext } from './context.js';

/** The business key that the code gives an effect by now, or the code of the error that keeps it from it. */
export type RecomputedKey = { readonly key: string } | { readonly failed: string };

/** A schema that takes longer hangs, and a command must not hang with it. */
const schemaWithinMs = 10_000;

/**
 * Computes the business keys of an event's effects that have not ended anew, from the recorded body: whether the code
 * still means what it meant. Changes nothing.
 *
 * @param missingBody The event's text where the ledger has lost it.
 * @returns By recorded name; effects that this configuration lacks are left out.
 */
export async function recomputeKeys(
  { catalogue, ledger }: OperationsContext,
  recorded: RecordedEvent | undefined,
  input: ProcessEventInput,
  missingBody: string | undefined,
): Promise<ReadonlyMap<string, RecomputedKey>> {
  const source = catalogue.source(input.source);
  const open = (recorded?.effects ?? []).flatMap(({ effect: name, ended }) => {
    const effect = recorded && effectFor(catalogue, name, recorded);
    return effect && !ended ? [{ name, effect }] : [];
  });
  if (!recorded || !source || open.length === 0) return new Map();
  const failing = (failed: string): ReadonlyMap<string, RecomputedKey> =>
    new Map(open.map(({ name }) => [name, { failed }]));
  const json = await recordedText(ledger, recorded, input, missingBody);
  if (json === undefined) return failing('payload_missing');
  try {
    const building = buildEvent(source, { ...input, type: recorded.type }, json);
    const { event } = await orAborted(building, AbortSignal.timeout(schemaWithinMs));
    return new Map(open.map(({ name, effect }) => [name, recompute(effect, event)]));
  } catch (error) {
    return failing(codeOf(error));
  }
}

function recompute(effect: Effect, event: ReceivedEvent): RecomputedKey {
  try {
    return { key: businessKeyOf(effect, event) };
  } catch (error) {
    return { failed: codeOf(error) };
  }
}

/** The body that the record has, which need not be that of the latest run. */
async function recordedText(
  ledger: OperationsContext['ledger'],
  { eventKey, tenant, digest }: RecordedEvent,
  input: ProcessEventInput,
  missingBody: string | undefined,
): Promise<string | undefined> {
  if (missingBody !== undefined && input.digest === digest) return missingBody;
  const body = await readPayload(ledger.database.query, ledger.schema, { tenant, eventKey, digest });
  return body && Buffer.from(body).toString('utf8');
}

/** What a schema of the user's throws has no code of ours. */
function codeOf(error: unknown): string {
  return error instanceof OnefoldError ? error.code : 'planning_failed';
}
