import { perEvent } from '../../effects/declare-effect.js';
import { resultLimitBytes } from '../../effects/encode-result.js';
import { OnefoldError } from '../../errors.js';
import { businessKey } from '../../identity/business-identity.js';
import { checkTenant } from '../../identity/check-tenant.js';
import { eventKey } from '../../identity/event-identity.js';
import type { AdoptedEvent, AdoptedRow } from '../../ledger/adopt/adopted-row.js';
import { sha256 } from '../../runtime/sha256.js';
import { parseJson } from '../../sources/parse-json.js';
import { adoptedDigest, type ProcessEventInput } from '../../workflows/contract.js';
import type { AdoptPlan } from './adopt-options.js';
import type { ClaimTableRow } from './read-claim-table.js';

/** A time as a workflow's input has it. */
const time = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Judges one row of the query.
 *
 * @param now Stands for the time of rows that have none.
 * @returns The row as the ledger takes it, or why it cannot be adopted: never with the result's content.
 */
export function readRow(plan: AdoptPlan, row: ClaimTableRow, now: Date): AdoptedRow | { readonly refused: string } {
  try {
    return adoptedRow(plan, row, now);
  } catch (error) {
    if (error instanceof OnefoldError) return { refused: error.message };
    throw error;
  }
}

function adoptedRow({ effect, ...plan }: AdoptPlan, row: ClaimTableRow, now: Date): AdoptedRow {
  const tenant = checkTenant(row.tenant ?? plan.tenant);
  if (row.done_at !== null && !time.test(row.done_at)) refuse('done_at is no time between the years 1000 and 9999');
  const doneAt = row.done_at === null ? now : new Date(row.done_at);
  const type = row.type ?? effect.on[0] ?? '';
  if (!effect.on.includes(type)) {
    refuse(`the effect does not act on type ${JSON.stringify(type)}, but on ${effect.on.join(', ')}`);
  }
  const { source } = effect;
  const event =
    row.event_key === null ? undefined : adoptedEvent({ tenant, source, id: row.event_key, type, doneAt }, effect.name);
  const ownKey = event && isPerEvent(effect) ? perEvent({ source, id: event.id } as never) : undefined;
  const key = row.business_key ?? ownKey;
  if (key === undefined) {
    throw new OnefoldError(
      'adopt_refused',
      event ? 'business_key is null, and the effect computes its own' : 'event_key and business_key are both null',
    );
  }
  if (ownKey !== undefined && key !== ownKey) {
    refuse(`business_key is not the effect's, which is perEvent: leave it out`);
  }
  if (row.result !== null) checkResult(row.result);
  return {
    tenant,
    businessKey: businessKey(key),
    doneAt,
    ...(event ? { event } : {}),
    ...(row.result === null ? {} : { result: row.result }),
  };
}

function isPerEvent({ businessKey: makesKey }: AdoptPlan['effect']): boolean {
  return makesKey === perEvent;
}

function adoptedEvent(
  event: {
    readonly tenant: string;
    readonly source: string;
    readonly id: string;
    readonly type: string;
    readonly doneAt: Date;
  },
  effect: string,
): AdoptedEvent {
  const { tenant, source, id, type, doneAt } = event;
  const input: ProcessEventInput = {
    version: 1,
    tenant,
    source,
    id,
    type,
    digest: adoptedDigest,
    receivedAt: doneAt.toISOString(),
    payload: { stored: true },
    effects: [effect],
  };
  return { eventKey: eventKey(event, sha256), source, id, type, input: JSON.stringify(input) };
}

function checkResult(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > resultLimitBytes) refuse(`result has ${bytes} bytes, and at most ${resultLimitBytes} are stored`);
  if (!parseJson(Buffer.from(text)).ok) refuse('result is not JSON: to_json(…) makes JSON of any value');
}

function refuse(why: string): never {
  throw new OnefoldError('adopt_refused', why);
}
