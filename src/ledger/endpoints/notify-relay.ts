import type { Sql } from '../database.js';
import { outboxChannel } from '../publications/outbox-channel.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Wakes the relays when the transaction commits, so that they tell deliveries under way of the endpoint's new version at
 * once. Lost, it costs a moment: they look by themselves.
 */
export async function notifyRelay(sql: Sql, schema: SchemaName): Promise<void> {
  await sql("SELECT pg_notify($1, '')", [outboxChannel(schema)]);
}
