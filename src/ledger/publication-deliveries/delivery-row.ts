import type { DeliveryRef } from '../../workflows/delivery-contract.js';

/** Where a delivery stands; see the table of states in the migration. */
export type DeliveryState = 'queued' | 'started' | 'delivered' | 'dead_lettered' | 'abandoned';

/** Every state, for whoever checks one that a person gave. */
export const deliveryStates: readonly DeliveryState[] = [
  'queued',
  'started',
  'delivered',
  'dead_lettered',
  'abandoned',
];

/** One delivery as the ledger has it. */
export interface RecordedDelivery extends DeliveryRef {
  /** The `webhook-id` of every attempt. */
  readonly eventId: string;
  readonly type: string;
  readonly state: DeliveryState;
  readonly publishedAt: Date;
  readonly startedAt?: Date;
  readonly endedAt?: Date;
  /** Attempts ever made, over all runs and replays. */
  readonly attempts: number;
  /** Of the last attempt, or of the end. */
  readonly lastCode?: string;
  readonly lastStatus?: number;
  /** The act that let it be sent again after its end. */
  readonly replay?: string;
}

/** A row of {@link deliveryColumns}. */
export interface DeliveryRow {
  tenant: string;
  publication: string;
  endpoint: string;
  event_id: string;
  type: string;
  state: DeliveryState;
  published_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  attempts: number;
  last_code: string | null;
  last_status: number | null;
  replay: string | null;
}

/** What the statements of this folder select of a delivery `d` and its publication `p`. */
export const deliveryColumns = `d.tenant, d.publication, d.endpoint, p.event_id, p.type, d.state, p.published_at, d.started_at,
       d.ended_at, d.attempts, d.last_code, d.last_status, d.replay`;

/** Puts a row into the shape that operations hand out. */
export function recordedDelivery(row: DeliveryRow): RecordedDelivery {
  return {
    tenant: row.tenant,
    endpoint: row.endpoint,
    publication: row.publication,
    eventId: row.event_id,
    type: row.type,
    state: row.state,
    publishedAt: row.published_at,
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    attempts: row.attempts,
    ...(row.last_code === null ? {} : { lastCode: row.last_code }),
    ...(row.last_status === null ? {} : { lastStatus: row.last_status }),
    ...(row.replay === null ? {} : { replay: row.replay }),
  };
}

/**
 * A moment as a cursor carries it: to the microsecond, since a row between two milliseconds must be met neither twice nor
 * never, and in a form that every setting of PostgreSQL reads back.
 */
export function exactly(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
