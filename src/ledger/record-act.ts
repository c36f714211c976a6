import type { Sql } from './database.js';
import type { SchemaName } from './schema-name.js';

/** What people do. */
export const actKinds = [
  'replay',
  'replay_many',
  'abandon',
  'resolve',
  'recover',
  'republish',
  'retry_now',
  'pause',
  'resume',
  'disable',
  'enable',
  'ingest',
  'adopt',
  'note',
] as const;
export type ActKind = (typeof actKinds)[number];

/** What a person did, under an identity of its own. */
export interface Act {
  readonly tenant: string;
  readonly id: string;
  readonly kind: ActKind;
  /**
   * What it is about: the workflow ID of an event or a delivery; `endpoint/<tenant>/<id>`, `effect/<name>`, `source/<name>`;
   * of a replay of many `events`.
   */
  readonly eventKey: string;
  readonly actor: string;
  readonly reason: string;
  /** JSON text: the business state shown before the act. */
  readonly seen: string;
  readonly outcome: string;
}

/** An act as recorded, with its time. */
export interface RecordedAct extends Act {
  readonly at: Date;
}

/** Records an act. @returns False where the same act is recorded already, which makes repeating a command harmless. */
export async function recordAct(sql: Sql, schema: SchemaName, act: Act): Promise<boolean> {
  const { rowCount } = await sql(
    `INSERT INTO ${schema}.acts (tenant, id, kind, event_key, actor, reason, seen, outcome)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
    [act.tenant, act.id, act.kind, act.eventKey, act.actor, act.reason, act.seen, act.outcome],
  );
  return rowCount === 1;
}

/** Says how an act went on after it was recorded. */
export async function setActOutcome(
  sql: Sql,
  schema: SchemaName,
  act: { readonly tenant: string; readonly id: string; readonly outcome: string },
): Promise<void> {
  await sql(`UPDATE ${schema}.acts SET outcome = $3 WHERE tenant = $1 AND id = $2`, [act.tenant, act.id, act.outcome]);
}

/** Reads one act back, or undefined. */
export async function readAct(
  sql: Sql,
  schema: SchemaName,
  tenant: string,
  id: string,
): Promise<RecordedAct | undefined> {
  const { rows } = await sql<RecordedAct>(
    `SELECT tenant, id, kind, event_key AS "eventKey", actor, reason, seen, outcome, at
     FROM ${schema}.acts WHERE tenant = $1 AND id = $2`,
    [tenant, id],
  );
  return rows[0];
}
