import { randomUUID } from 'node:crypto';
import { sqlState } from '../../effects/classify-failure.js';
import { OnefoldError } from '../../errors.js';
import { cutText } from '../../identity/cut-text.js';
import type { Sql, TransactionLimits } from '../../ledger/database.js';
import type { EndpointRef, EndpointRow } from '../../ledger/endpoints/endpoint-row.js';
import { lockEndpoint } from '../../ledger/endpoints/lock-endpoint.js';
import { notifyRelay } from '../../ledger/endpoints/notify-relay.js';
import { type ActKind, readAct as readRecorded, recordAct } from '../../ledger/record-act.js';
import { storableText } from '../../ledger/storable-text.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { endpointOfRow } from '../../publisher/endpoint-of-row.js';
import { asEndpointInvalid } from '../../publisher/endpoint-settings.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import { endpointActKey } from '../act-keys.js';
import { operationFailure } from '../operation-failure.js';
import { checkEndpointRef, unknownEndpoint } from './endpoint-ref.js';
import type { EndpointAct, EndpointsDependencies } from './endpoints-dependencies.js';

/** The most of a reason that is kept. */
const reasonLimit = 500;

/** Of a whole transaction. It waits at most for another change of the same endpoint. */
const limitMs = 10_000;

/** PostgreSQL's deadlock_detected: an attempt that is just ending may hold a slot and want the endpoint's row. */
const deadlock = '40P01';
const deadlockTries = 4;

/** A change that is to be made under the lock of the endpoint's row. */
export interface EndpointChange {
  /** Its name in the log. */
  readonly event: `endpoint.${string}`;
  /** More fields of the log line. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Recorded as an act of this kind, with the state that it met. */
  readonly recordedAs?: ActKind;
  /** @returns The new row; the old one says that there is nothing to change. */
  change(sql: Sql, before: EndpointRow): Promise<EndpointRow>;
}

/**
 * Changes one endpoint of a tenant in one transaction: locks its row, changes it, wakes the relays, and logs who did it and
 * why after the commit. Of two changes at once the second sees the first.
 *
 * @throws {OnefoldError} `endpoint_unknown`, `endpoint_removed`, `identity_invalid`, `endpoint_invalid` for an act that is
 * none, `ledger_unavailable`, `migration_missing`.
 */
export async function changeEndpoint(
  { ledger, log }: Pick<EndpointsDependencies, 'ledger' | 'log'>,
  ref: EndpointRef,
  act: EndpointAct,
  { event, fields, recordedAs, change }: EndpointChange,
): Promise<Endpoint> {
  checkEndpointRef(ref);
  const { by, reason, id = randomUUID() } = readAct(act);
  const { before, after } = await inTransaction(ledger, async (sql) => {
    const before = await lockEndpoint(sql, ledger.schema, ref);
    if (!before) throw unknownEndpoint(ref);
    if (before.state === 'removed') {
      throw new OnefoldError('endpoint_removed', `the endpoint ${ref.id} was removed; add another one`);
    }
    if (
      recordedAs &&
      !(await recordOnce(sql, ledger.schema, before, {
        kind: recordedAs,
        by: by ?? 'unknown',
        reason: reason ?? '',
        id,
      }))
    ) {
      return { before, after: before };
    }
    const after = await change(sql, before);
    if (after !== before) await notifyRelay(sql, ledger.schema);
    return { before, after };
  });
  if (after !== before) {
    log.info({ tenant: ref.tenant, endpoint: ref.id, version: Number(after.version), ...fields, by, reason }, event);
  }
  return endpointOfRow(after);
}

/**
 * Records a change as an act.
 *
 * @returns False where the same act is recorded already.
 * @throws {OnefoldError} `endpoint_invalid` for the id of another act.
 */
async function recordOnce(
  sql: Sql,
  schema: EndpointsDependencies['ledger']['schema'],
  { tenant, id: endpoint, state, stateReason }: EndpointRow,
  {
    kind,
    by,
    reason,
    id,
  }: { readonly kind: ActKind; readonly by: string; readonly reason: string; readonly id: string },
): Promise<boolean> {
  const eventKey = endpointActKey(tenant, endpoint);
  const seen = JSON.stringify({ endpoint, state, stateReason });
  const recorded = { tenant, id, kind, eventKey, actor: by, reason, seen, outcome: 'carried_out' };
  if (await recordAct(sql, schema, recorded)) return true;
  const earlier = await readRecorded(sql, schema, tenant, id);
  if (earlier?.kind === kind && earlier.eventKey === eventKey) return false;
  throw new OnefoldError('endpoint_invalid', `act.id: ${id} is the id of another act`);
}

/** Runs work in a transaction, again where PostgreSQL had to end it for the sake of another one. */
export async function inTransaction<Result>(
  { database }: EndpointsDependencies['ledger'],
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await database.transaction((_tx, sql) => work(sql), limits());
    } catch (error) {
      if (sqlState(error) !== deadlock || tries === deadlockTries) throw operationFailure(error);
    }
  }
}

function limits(): TransactionLimits {
  return {
    statementTimeoutMs: limitMs,
    lockTimeoutMs: limitMs,
    idleTimeoutMs: limitMs,
    signal: AbortSignal.timeout(limitMs),
  };
}

/**
 * Reads who acts and why, as it is logged and kept.
 *
 * @throws {OnefoldError} `endpoint_invalid` for an unknown field, and for one that is not text.
 */
export function readAct(act: EndpointAct): EndpointAct {
  asEndpointInvalid(() => refuseUnknownOptions(act, ['by', 'reason', 'id'], 'act'));
  const text = (name: keyof EndpointAct): EndpointAct => {
    const value: unknown = act[name];
    if (value === undefined) return {};
    if (typeof value !== 'string') throw new OnefoldError('endpoint_invalid', `act.${name}: expected text`);
    return { [name]: cutText(storableText(value), reasonLimit) };
  };
  if (act.id?.trim() === '') throw new OnefoldError('endpoint_invalid', 'act.id: expected text that is not blank');
  return { ...text('by'), ...text('reason'), ...text('id') };
}
