import { OnefoldError } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import { readPlan } from '../ledger/read-plan.js';
import type { Source } from '../sources/define-source.js';
import { isProcessEventInput } from '../workflows/contract.js';
import { buildEvent } from './build-event.js';
import type { ReceivedEvent } from './event.js';
import { payloadText } from './plan-event.js';

/** The event of an earlier attempt, as the ledger recorded it; undefined where its body is gone or fits no schema any more. */
export async function readRecordedEvent(
  ledger: Ledger,
  source: Source,
  tenant: string,
  eventKey: string,
): Promise<ReceivedEvent | undefined> {
  const recorded = await readPlan(ledger.database.query, ledger.schema, tenant, eventKey);
  const input: unknown = recorded && JSON.parse(recorded.input);
  if (!recorded || !isProcessEventInput(input)) return undefined;
  try {
    const json = await payloadText(ledger, eventKey, tenant, recorded.digest, { stored: true });
    return (await buildEvent(source, { ...input, type: recorded.type }, json)).event;
  } catch (error) {
    if (error instanceof OnefoldError && (error.code === 'payload_missing' || error.code === 'data_invalid')) {
      return undefined;
    }
    throw error;
  }
}
