import { sha256 } from '../../runtime/sha256.js';
import type { SchemaName } from '../schema-name.js';

const prefix = 'onefold_outbox_';

/** PostgreSQL refuses a longer channel. */
const channelLimitBytes = 63;

/**
 * The channel on which relays are woken: `onefold_outbox_<schema>`, and for a schema with a very long name a hash in its
 * place. A notification says only that there may be something to do; whoever misses it finds it by polling.
 */
export function outboxChannel(schema: SchemaName): string {
  const name = schema.slice(1, -1);
  const channel = `${prefix}${name}`;
  return channel.length <= channelLimitBytes ? channel : `${prefix}${sha256(name).slice(0, 32)}`;
}
