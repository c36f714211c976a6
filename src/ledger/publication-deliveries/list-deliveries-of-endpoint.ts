import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type DeliveryRow, deliveryColumns, exactly, recordedDelivery } from './delivery-row.js';
import type { DeliveryPlace, DeliverySelection, ListedDelivery } from './list-deliveries.js';

/**
 * Lists deliveries to one endpoint, those published last first: the same as `listDeliveries`, along the endpoint's own
 * index, since one endpoint may have few among many.
 *
 * @param page `after`: place of the last one of the page before.
 */
export async function listDeliveriesOfEndpoint(
  sql: Sql,
  schema: SchemaName,
  selection: DeliverySelection & { readonly endpoint: string },
  page: { readonly after?: DeliveryPlace; readonly limit: number },
): Promise<readonly ListedDelivery[]> {
  const { where, values } = conditions({
    'd.tenant = ?': selection.tenant,
    'd.endpoint = ?': selection.endpoint,
    'd.publication = ?': selection.publication,
    'p.type = ?': selection.type,
    'd.state = ?': selection.state,
    'd.queued_at >= ?': selection.since,
    'd.queued_at < ?': selection.until,
    'd.queued_at <= ?': page.after?.[0],
    '(d.queued_at < ? OR d.publication > ?)': page.after?.slice(0, 2),
  });
  const { rows } = await sql<DeliveryRow & { at: string }>(
    `SELECT ${deliveryColumns}, ${exactly('d.queued_at')} AS at
     FROM ${schema}.publication_deliveries d
     JOIN ${schema}.publications p ON p.tenant = d.tenant AND p.publication = d.publication
     WHERE ${where}
     ORDER BY d.queued_at DESC, d.publication
     LIMIT $${values.length + 1}`,
    [...values, page.limit],
  );
  return rows.map((row) => ({
    delivery: recordedDelivery(row),
    place: [row.at, row.publication, row.endpoint],
  }));
}
