import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import {
  type DeliveryRow,
  type DeliveryState,
  deliveryColumns,
  exactly,
  type RecordedDelivery,
  recordedDelivery,
} from './delivery-row.js';

/** Which deliveries of a tenant are asked for; what is left out restricts nothing. */
export interface DeliverySelection {
  readonly tenant: string;
  readonly publication?: string;
  readonly type?: string;
  readonly state?: DeliveryState;
  /** Published at or after. */
  readonly since?: Date;
  /** Published before. */
  readonly until?: Date;
}

/** The place of a delivery in the order of a list: time, publication and endpoint. */
export type DeliveryPlace = readonly [at: string, publication: string, endpoint: string];

/** A delivery in a list, with its place. */
export interface ListedDelivery {
  readonly delivery: RecordedDelivery;
  readonly place: DeliveryPlace;
}

/**
 * Lists deliveries of a tenant, those published last first; within a publication by endpoint. Goes along the index of
 * publications by time, so that the table of deliveries needs none of its own for it.
 *
 * @param page `after`: place of the last one of the page before.
 */
export async function listDeliveries(
  sql: Sql,
  schema: SchemaName,
  selection: DeliverySelection,
  page: { readonly after?: DeliveryPlace; readonly limit: number },
): Promise<readonly ListedDelivery[]> {
  const { where, values } = conditions({
    'p.tenant = ?': selection.tenant,
    'p.publication = ?': selection.publication,
    'p.type = ?': selection.type,
    'd.state = ?': selection.state,
    'p.published_at >= ?': selection.since,
    'p.published_at < ?': selection.until,
    // Said twice, since an index is entered by a plain bound only.
    'p.published_at <= ?': page.after?.[0],
    '(p.published_at < ? OR (p.publication, d.endpoint) > (?, ?))': page.after,
  });
  const { rows } = await sql<DeliveryRow & { at: string }>(
    `SELECT ${deliveryColumns}, ${exactly('p.published_at')} AS at
     FROM ${schema}.publications p
     JOIN ${schema}.publication_deliveries d ON d.tenant = p.tenant AND d.publication = p.publication
     WHERE ${where}
     ORDER BY p.published_at DESC, p.publication, d.endpoint
     LIMIT $${values.length + 1}`,
    [...values, page.limit],
  );
  return rows.map((row) => ({
    delivery: recordedDelivery(row),
    place: [row.at, row.publication, row.endpoint],
  }));
}
