import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';

/** Which refused requests are asked for; what is left out restricts nothing. */
export interface RejectedSelection {
  readonly source?: string;
  readonly code?: string;
  readonly reason?: string;
  /** Received at or after. */
  readonly since?: Date;
  /** Received before. */
  readonly until?: Date;
}

/** The place of a sample in the order of a list. */
export type RejectedPlace = readonly [receivedAt: string, id: string];

/** A sampled request that was refused at the door. */
export interface RejectedSample {
  readonly id: string;
  readonly source: string;
  readonly code: string;
  /** The finer reason; '' where there is none. */
  readonly reason: string;
  readonly status: number;
  readonly method: string;
  /** Names to values, null where the value is not kept. */
  readonly headers: Readonly<Record<string, string | null>>;
  /** The network of the connection, which may be a proxy's: `192.0.2.0/24`. */
  readonly network?: string;
  /** SHA-256 in hex of the body as far as it was read. */
  readonly digest?: string;
  /** How much of the body was read. */
  readonly bytes?: number;
  readonly receivedAt: Date;
  /** Until when the body is kept, where it is. */
  readonly bodyUntil?: Date;
}

/** A sample in a list, with its place. */
export interface ListedRejected {
  readonly sample: RejectedSample;
  readonly place: RejectedPlace;
}

interface Row {
  id: string;
  source: string;
  code: string;
  reason: string;
  status: number;
  method: string;
  headers: string;
  network: string | null;
  digest: string | null;
  bytes: number | null;
  received_at: Date;
  body_until: Date | null;
  at: string;
}

/**
 * Lists samples of refused requests, the latest first.
 *
 * @param page `after`: place of the last one of the page before; `only`: this sample alone.
 */
export async function listRejected(
  sql: Sql,
  schema: SchemaName,
  selection: RejectedSelection,
  page: { readonly after?: RejectedPlace; readonly only?: string; readonly limit: number },
): Promise<readonly ListedRejected[]> {
  const { where, values } = conditions({
    'id = ?': page.only,
    'source = ?': selection.source,
    'code = ?': selection.code,
    'reason = ?': selection.reason,
    'received_at >= ?': selection.since,
    'received_at < ?': selection.until,
    // Said twice, since an index is entered by a plain bound only.
    'received_at <= ?': page.after?.[0],
    '(received_at < ? OR id > ?)': page.after,
  });
  const { rows } = await sql<Row>(
    `SELECT id, source, code, reason, status, method, headers, network, digest, bytes, received_at,
            CASE WHEN body IS NOT NULL THEN body_until END AS body_until,
            to_char(received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
     FROM ${schema}.rejected_requests
     ${where === '' ? '' : `WHERE ${where}`}
     ORDER BY received_at DESC, id
     LIMIT $${values.length + 1}`,
    [...values, page.limit],
  );
  return rows.map((row) => ({
    sample: {
      id: row.id,
      source: row.source,
      code: row.code,
      reason: row.reason,
      status: row.status,
      method: row.method,
      headers: JSON.parse(row.headers) as RejectedSample['headers'],
      ...(row.network === null ? {} : { network: row.network }),
      ...(row.digest === null ? {} : { digest: row.digest }),
      ...(row.bytes === null ? {} : { bytes: row.bytes }),
      receivedAt: row.received_at,
      ...(row.body_until === null ? {} : { bodyUntil: row.body_until }),
    },
    place: [row.at, row.id],
  }));
}
