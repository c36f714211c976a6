import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { columnsOf, type TracedKey } from './traced-key.js';

/** A delivery of an event as it was answered. */
export interface TracedDelivery {
  readonly tenant: string;
  readonly eventKey: string;
  readonly id: string;
  /** Null where it was refused before it had one. */
  readonly path: string | null;
  readonly code: string | null;
  readonly status: number;
  readonly bodyDiffers: boolean;
  readonly receivedAt: Date;
  /** False where a person handed the event in, by the act named. */
  readonly signed: boolean;
  readonly act: string | null;
  /** How many the event has in all. */
  readonly of: number;
}

/** An event may be delivered ten thousand times: its first deliveries say who began, its last how it stands. */
export const firstDeliveries = 50;
export const lastDeliveries = 100;

/** Reads the first and the last deliveries of each event, in the order in which they came. */
export async function readDeliveries(
  sql: Sql,
  schema: SchemaName,
  keys: readonly TracedKey[],
): Promise<readonly TracedDelivery[]> {
  const { rows } = await sql<Omit<TracedDelivery, 'of'> & { of: string }>(
    `SELECT d.tenant, d.event_key AS "eventKey", d.id::text AS id, d.path, d.code, d.status,
            d.body_differs AS "bodyDiffers", d.received_at AS "receivedAt", d.signed, d.act, c."of"
     FROM unnest($1::text[], $2::text[]) AS asked (tenant, event_key)
     CROSS JOIN LATERAL (
       (SELECT * FROM ${schema}.deliveries f WHERE f.tenant = asked.tenant AND f.event_key = asked.event_key
        ORDER BY f.received_at LIMIT ${firstDeliveries})
       UNION
       (SELECT * FROM ${schema}.deliveries l WHERE l.tenant = asked.tenant AND l.event_key = asked.event_key
        ORDER BY l.received_at DESC LIMIT ${lastDeliveries})
     ) d
     CROSS JOIN LATERAL (
       SELECT count(*) AS "of" FROM ${schema}.deliveries a
       WHERE a.tenant = asked.tenant AND a.event_key = asked.event_key
     ) c
     ORDER BY d.received_at, d.id`,
    columnsOf(keys),
  );
  return rows.map(({ of, ...row }) => ({ ...row, of: Number(of) }));
}
