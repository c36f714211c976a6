import { forwardsKey } from '../../../src/effects/recovery.js';
import type { Configuration } from '../../setup/harness.js';
import { postEffect } from './post-effect.js';
import { shop } from './shop.js';

export const chargeKey = (order: string): string => `charge:${order}`;

/** A shop that charges by a call which may take an hour, and by one that may take two seconds and is tried once. */
export function configure({ partner }: { readonly partner: string }): Configuration {
  const common = {
    on: 'order.paid',
    businessKey: ({ data }: { data: { order: string } }) => chargeKey(data.order),
    recovery: forwardsKey({ validFor: '1 day' }),
    perform: (call: Parameters<typeof postEffect>[1]) => postEffect(partner, call),
  } as const;
  const charge = shop.externalEffect('charge', {
    ...common,
    timeout: '1 hour',
    heartbeat: '500ms',
    retry: { initialInterval: 50, maximumInterval: 100 },
  });
  const chargeOnce = shop.externalEffect('charge-once', {
    ...common,
    timeout: '2 seconds',
    retry: { maximumAttempts: 1 },
  });
  return { sources: [shop], effects: [charge, chargeOnce] };
}

/** Its module, for workers in processes of their own. */
export const chargingShop = import.meta.url;
