import type { Effect } from '../../../src/effects/effect.js';
import type { Source } from '../../../src/sources/define-source.js';
import type { SourceOptions } from '../../../src/sources/source.js';
import { standardWebhooks } from '../../../src/sources/standard-webhooks.js';
import { types } from '../../../src/sources/types.js';

/** The secret of the test sources; signs nothing real. */
export const secret = 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=';

/** A source that signs by Standard Webhooks and knows `order.paid`, with one effect on it. */
export function shop(name = 'shop', options: Partial<SourceOptions> = {}): { source: Source; effects: Effect[] } {
  const source = standardWebhooks(name, {
    secrets: secret,
    ...options,
    events: { 'order.paid': types<unknown>(), 'order.seen': types<unknown>() },
  });
  const effect = source.effect(`ship-${name}`, {
    on: 'order.paid',
    businessKey: (event) => `shipment:${event.id}`,
    commit: async () => ({ shipment: 's-1' }),
  });
  return { source: source as Source, effects: [effect] };
}

/** One delivery as the provider sends it. */
export interface Delivery {
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

/** Signs an event, now unless told otherwise. */
export function signed(
  source: Source,
  id: string,
  content: { readonly type?: string; readonly data?: unknown } | Uint8Array = {},
  now = new Date(),
): Delivery {
  const type = content instanceof Uint8Array ? '' : (content.type ?? 'order.paid');
  const body =
    content instanceof Uint8Array ? content : Buffer.from(JSON.stringify({ type, data: content.data ?? { order: 7 } }));
  return { headers: source.preset.sign({ body, id, type, now }), body };
}
