import { setTimeout as sleep } from 'node:timers/promises';
import { createOnefold, forwardsKey, park, reconcile, standardWebhooks, types } from 'onefold';
import { askPartner, callPartner } from '../faults/support/call-partner.js';
import {
  bookingKey,
  callTimeoutMs,
  externalEffectNames,
  frozenMs,
  latestActMs,
  partnersVariable,
  type RecoveryKind,
} from './external-effects.js';

/** Signs nothing outside of a proof. */
export const proofSecret = 'whsec_b25lZm9sZC1wcm9vZi1zZWNyZXQta2V5LTAwMDE=';

const order = types<{ fulfilment: string }>();
const shop = standardWebhooks('shop', {
  secrets: proofSecret,
  events: { 'order.paid': order, 'order.forwardsKey': order, 'order.reconcile': order, 'order.park': order },
});

/**
 * The table has no unique constraint: what keeps it to one row per fulfilment is the ledger alone. The pauses make room
 * for a kill on both sides of the insert, and some attempts fail by themselves.
 */
const ship = shop.effect('ship', {
  on: ['order.paid', 'order.forwardsKey', 'order.reconcile', 'order.park'],
  businessKey: (event) => `shipment:${event.data.fulfilment}`,
  timeout: '10 seconds',
  retry: { initialInterval: 200, maximumInterval: '2 seconds', maximumAttempts: 1000 },
  commit: async ({ event, tx }) => {
    await sleep(Math.random() * 20);
    if (Math.random() < 0.03) throw new Error('failing by itself, before the write');
    const { rows } = await tx.query('INSERT INTO proof.shipments (fulfilment, event) VALUES ($1, $2) RETURNING id', [
      event.data.fulfilment,
      event.id,
    ]);
    await sleep(Math.random() * 20);
    if (Math.random() < 0.03) throw new Error('failing by itself, after the write');
    return { shipment: rows[0]?.id };
  },
});

const partners = JSON.parse(process.env[partnersVariable] ?? '{}') as Record<RecoveryKind, string>;

const booking = {
  businessKey: (event: { data: { fulfilment: string } }) => bookingKey(event.data.fulfilment),
  timeout: callTimeoutMs,
  heartbeat: '1 second',
  retry: { initialInterval: 200, maximumInterval: '2 seconds', maximumAttempts: 1000 },
};

/** Its partner dedupes on the key. */
const bookByKey = shop.externalEffect(externalEffectNames.forwardsKey, {
  ...booking,
  on: 'order.forwardsKey',
  recovery: forwardsKey({ validFor: '1 hour' }),
  perform: (call) => callPartner(partners.forwardsKey, call),
});

/** Its partner acts on every call, so only the answer of `reconcile` keeps a second one from being made. */
const bookAndAsk = shop.externalEffect(externalEffectNames.reconcile, {
  ...booking,
  on: 'order.reconcile',
  recovery: reconcile((call) => askPartner(partners.reconcile, call), { settleAfter: frozenMs + latestActMs }),
  perform: (call) => callPartner(partners.reconcile, call),
});

/** Its partner acts on every call too, and cannot be asked by a program. */
const bookOrPark = shop.externalEffect(externalEffectNames.park, {
  ...booking,
  on: 'order.park',
  recovery: park(),
  perform: (call) => callPartner(partners.park, call),
});

export const onefold = createOnefold({
  sources: [shop],
  effects: [ship, bookByKey, bookAndAsk, bookOrPark],
  taskQueue: 'proof',
});
