import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type AdoptedRow, columnsOf } from './adopted-row.js';

/** What the ledger has of a row that is to be adopted. */
export interface Adoptable {
  /** Of the business identity, under any of the effect's names; undefined where it was never claimed. */
  readonly claim?: { readonly state: string; readonly eventKey: string; readonly event: string };
  /**
   * `absent`: the event is not recorded. `other_effects`: it is, without this one. `unplanned`: it is, and none of its effects
   * were planned yet, which its next plan is to do. `observed`: with this effect, which only looked. `recorded`: with it.
   */
  readonly record: 'absent' | 'other_effects' | 'observed' | 'unplanned' | 'recorded';
  /** The business key that the event was planned with, or observed under; undefined where it lacks the effect. */
  readonly plannedKey?: string;
}

interface Row {
  place: string;
  state: string | null;
  event_key: string | null;
  event: string | null;
  is_recorded: boolean;
  has_effects: boolean;
  planned_key: string | null;
  outcome: string | null;
}

/** Reads for each row, in the order given, what the ledger has of its business identity and of its event. */
export async function readAdoptable(
  sql: Sql,
  schema: SchemaName,
  names: readonly string[],
  rows: readonly AdoptedRow[],
): Promise<readonly Adoptable[]> {
  const [tenants, businessKeys, eventKeys] = columnsOf(rows);
  const { rows: found } = await sql<Row>(
    `SELECT given.place, claim.state, claim.event_key, claim.event,
            EXISTS (SELECT 1 FROM ${schema}.events e
                    WHERE e.tenant = given.tenant AND e.event_key = given.event_key) AS is_recorded,
            EXISTS (SELECT 1 FROM ${schema}.event_effects k
                    WHERE k.tenant = given.tenant AND k.event_key = given.event_key) AS has_effects,
            own.business_key AS planned_key, own.outcome
     FROM unnest($2::text[], $3::text[], $4::text[])
       WITH ORDINALITY AS given (tenant, business_key, event_key, place)
     LEFT JOIN LATERAL (
       SELECT d.state, d.event_key, d.event FROM ${schema}.effects d
       WHERE d.tenant = given.tenant AND d.effect = ANY($1) AND d.business_key = given.business_key
       ORDER BY d.state = 'done' DESC LIMIT 1
     ) AS claim ON true
     LEFT JOIN LATERAL (
       SELECT k.business_key, k.outcome FROM ${schema}.event_effects k
       WHERE k.tenant = given.tenant AND k.event_key = given.event_key AND k.effect = ANY($1) LIMIT 1
     ) AS own ON true
     ORDER BY given.place`,
    [names, tenants, businessKeys, eventKeys],
  );
  return found.map(({ state, event_key: eventKey, event, ...record }) => ({
    ...(state === null ? {} : { claim: { state, eventKey: eventKey ?? '', event: event ?? '' } }),
    record: recordOf(record),
    ...(record.planned_key === null ? {} : { plannedKey: record.planned_key }),
  }));
}

function recordOf(row: Pick<Row, 'is_recorded' | 'has_effects' | 'planned_key' | 'outcome'>): Adoptable['record'] {
  if (row.planned_key !== null) return row.outcome === 'observed' ? 'observed' : 'recorded';
  if (row.has_effects) return 'other_effects';
  return row.is_recorded ? 'unplanned' : 'absent';
}
