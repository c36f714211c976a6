import { forwardsKey, park, reconcile } from '../../../src/effects/recovery.js';
import type { PgTransaction } from '../../../src/ledger/pg-database.js';
import { standardWebhooks } from '../../../src/sources/standard-webhooks.js';
import { types } from '../../../src/sources/types.js';
import type { Configuration } from '../../setup/harness.js';
import { askPartner, callPartner } from './call-partner.js';

/** The recoveries that an effect can declare. */
export const recoveries = ['forwardsKey', 'reconcile', 'park'] as const;

export type RecoveryKind = (typeof recoveries)[number];

/** Without a unique constraint on purpose: only the ledger keeps it to one row for each effect. */
export const labelsTable =
  'CREATE TABLE labels (id serial PRIMARY KEY, business_key text NOT NULL, receipt text NOT NULL)';

/** Where the partner of each recovery is. */
export type PartnerUrls = Readonly<Record<RecoveryKind, string>>;

const order = types<{ order: string }>();

/** One event type for each recovery, so that an event has one effect. */
export const carrier = standardWebhooks('carrier', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDI=',
  events: { 'order.forwardsKey': order, 'order.reconcile': order, 'order.park': order },
});

export const effectNames: Readonly<Record<RecoveryKind, string>> = {
  forwardsKey: 'ship-by-key',
  reconcile: 'ship-and-ask',
  park: 'ship-or-park',
};

/** What the partner knows an order by. */
export const businessKeyOf = (orderId: string): string => `label:${orderId}`;

/** How patient the effects are. */
export interface Patience {
  readonly timeout?: string;
  readonly settleAfter?: string;
}

/**
 * Three effects that differ in their recovery alone. The lease of 4 s is renewed while an attempt calls, so that a dead one
 * is noticed within seconds, and a busy machine is not taken for one; the timeout is far beyond it, so that the lease alone
 * keeps a zombie from acting.
 */
export function carrierEffects(
  urls: PartnerUrls,
  { timeout = '10 minutes', settleAfter = '1 second' }: Patience = {},
): Configuration {
  const common = {
    businessKey: ({ data }: { data: { order: string } }) => businessKeyOf(data.order),
    timeout,
    heartbeat: '1 second',
    lease: '4 seconds',
    retry: { initialInterval: 100, maximumInterval: 400, maximumAttempts: 200 },
  };
  return {
    sources: [carrier],
    effects: [
      carrier.externalEffect(effectNames.forwardsKey, {
        ...common,
        on: 'order.forwardsKey',
        recovery: forwardsKey({ validFor: '1 hour' }),
        perform: (call) => callPartner(urls.forwardsKey, call),
        commit: (made) => writeLabel(made),
      }),
      carrier.externalEffect(effectNames.reconcile, {
        ...common,
        on: 'order.reconcile',
        recovery: reconcile((call) => askPartner(urls.reconcile, call), { settleAfter }),
        perform: (call) => callPartner(urls.reconcile, call),
        commit: (made) => writeLabel(made),
      }),
      carrier.externalEffect(effectNames.park, {
        ...common,
        on: 'order.park',
        recovery: park(),
        perform: (call) => callPartner(urls.park, call),
        commit: (made) => writeLabel(made),
      }),
    ],
  };
}

async function writeLabel(made: {
  readonly tx: PgTransaction;
  readonly businessKey: string;
  readonly result: { readonly id: string };
}): Promise<void> {
  await made.tx.query('INSERT INTO labels (business_key, receipt) VALUES ($1, $2)', [made.businessKey, made.result.id]);
}
