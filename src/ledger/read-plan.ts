import type { StoredResult } from '../workflows/contract.js';
import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** Results up to this many bytes travel through Temporal; larger ones stay in the ledger and go by reference. */
export const travellingResultBytes = 64 * 1024;

/** How an effect has ended for an event. `observed`: nothing was claimed, since its mode is to look only. */
export type RecordedOutcome = 'done' | 'already_done' | 'stale' | 'observed';

/** One effect as an earlier plan recorded it. */
export interface RecordedEffect {
  readonly effect: string;
  readonly businessKey: string;
  readonly ended?: {
    readonly outcome: RecordedOutcome;
    readonly fence?: number;
    readonly result?: StoredResult;
    readonly doneBy?: string;
  };
}

/** What the ledger holds of an event. */
export interface RecordedEvent {
  readonly tenant: string;
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly digest: string;
  readonly input: string;
  readonly state: 'open' | 'done' | 'dead_lettered' | 'abandoned' | 'ignored';
  readonly abandoned?: { readonly by: string; readonly reason: string };
  readonly effects: readonly RecordedEffect[];
}

interface Row {
  source: string;
  event_id: string;
  type: string;
  digest: string;
  input: string;
  state: RecordedEvent['state'];
  abandoned_by: string | null;
  abandoned_reason: string | null;
  effect: string | null;
  business_key: string;
  outcome: RecordedOutcome | null;
  fence: string | null;
  event: string | null;
  result: string | null;
  result_bytes: number | null;
}

/** Reads an event's plan, with the stored result of every effect that has ended; undefined where none is recorded. */
export async function readPlan(
  sql: Sql,
  schema: SchemaName,
  tenant: string,
  eventKey: string,
): Promise<RecordedEvent | undefined> {
  const { rows } = await sql<Row>(
    `SELECT e.source, e.event_id, e.type, e.digest, e.input, e.state, e.abandoned_by, e.abandoned_reason,
            k.effect, k.business_key, k.outcome,
            d.fence, d.event, octet_length(d.result) AS result_bytes,
            CASE WHEN octet_length(d.result) <= ${travellingResultBytes} THEN d.result END AS result
     FROM ${schema}.events e
     LEFT JOIN ${schema}.event_effects k ON k.tenant = e.tenant AND k.event_key = e.event_key
     LEFT JOIN ${schema}.effects d ON d.tenant = k.tenant AND d.effect = coalesce(k.completed_as, k.effect)
                                   AND d.business_key = k.business_key
                                   AND d.state = 'done' AND k.outcome <> 'observed'
     WHERE e.tenant = $1 AND e.event_key = $2
     ORDER BY k.effect`,
    [tenant, eventKey],
  );
  const [first] = rows;
  if (!first) return undefined;
  return {
    tenant,
    eventKey,
    source: first.source,
    id: first.event_id,
    type: first.type,
    digest: first.digest,
    input: first.input,
    state: first.state,
    ...(first.state === 'abandoned'
      ? { abandoned: { by: first.abandoned_by ?? '', reason: first.abandoned_reason ?? '' } }
      : {}),
    effects: rows.flatMap((row) => (row.effect === null ? [] : [recordedEffect(row, row.effect)])),
  };
}

function recordedEffect(row: Row, effect: string): RecordedEffect {
  if (row.outcome === null) return { effect, businessKey: row.business_key };
  const result = storedResult(row.result, row.result_bytes);
  return {
    effect,
    businessKey: row.business_key,
    ended: {
      outcome: row.outcome,
      ...(row.fence === null ? {} : { fence: Number(row.fence) }),
      ...(row.event === null ? {} : { doneBy: row.event }),
      ...(result ? { result } : {}),
    },
  };
}

/** A result as it travels: its JSON text, or its size where it stays in the ledger. */
export function storedResult(json: string | null, bytes: number | null): StoredResult | undefined {
  if (json !== null) return { json };
  return bytes === null ? undefined : { stored: true, bytes };
}
