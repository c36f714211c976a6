import { expect, expectTypeOf, test } from 'vitest';
import {
  type EventFrom,
  forwardsKey,
  type JsonValue,
  park,
  type ReceivedEvent,
  type ReconcileContext,
  reconcile,
  standardWebhooks,
  types,
} from '../../src/index.js';

// Each `@ts-expect-error` is a claim: the compiler refuses the line below it, and fails the check where it does not.
const shop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.paid': types<{ order: string }>(), 'order.refunded': types<{ reason: string }>() },
});
const businessKey = (event: ReceivedEvent) => event.id;
type OrderPaid = EventFrom<typeof shop, 'order.paid'>;

test('the event of perform is typed, and its result is what commit gets', () => {
  shop.externalEffect('typed', {
    on: 'order.paid',
    businessKey: ({ data }) => data.order,
    perform: async ({ event, idempotencyKey }) => {
      expectTypeOf(event).toEqualTypeOf<ReceivedEvent<'shop', 'order.paid', { order: string }>>();
      expectTypeOf(idempotencyKey).toBeString();
      return { charge: event.data.order };
    },
    recovery: forwardsKey({ validFor: '24 hours' }),
    commit: async ({ result, event }) => {
      expectTypeOf(result).toEqualTypeOf<{ charge: string }>();
      expectTypeOf(event.data.order).toBeString();
    },
  });
});

test('what the recipient is found to have done is typed as what perform returns', () => {
  shop.externalEffect('asked', {
    on: 'order.paid',
    businessKey,
    perform: async () => ({ charge: 'ch_1' }),
    recovery: reconcile(async ({ businessKey: key, idempotencyKey }) => ({ done: { charge: key + idempotencyKey } })),
    commit: async ({ result }) => expectTypeOf(result).toEqualTypeOf<{ charge: string }>(),
  });
  shop.externalEffect('asked-wrongly', {
    on: 'order.paid',
    businessKey,
    perform: async () => ({ charge: 'ch_1' }),
    // @ts-expect-error the recovery would hand `commit` another shape
    recovery: reconcile(async () => ({ done: { chrage: 'ch_1' } })),
  });
});

test('what is asked once the key is forgotten needs no annotation', () => {
  shop.externalEffect('asked-later', {
    on: 'order.paid',
    businessKey,
    perform: async () => ({ charge: 'ch_1' }),
    recovery: forwardsKey({
      validFor: '24 hours',
      reconcile: async ({ idempotencyKey, signal }) => {
        expectTypeOf(idempotencyKey).toBeString();
        return signal.aborted ? 'unknown' : { done: { charge: idempotencyKey } };
      },
    }),
    commit: async ({ result }) => expectTypeOf(result).toEqualTypeOf<{ charge: string }>(),
  });
  forwardsKey({ validFor: '24 hours', reconcile: async () => 'absent' });
});

test('an effect without a recovery does not compile, and is refused at run time too', () => {
  expect(() =>
    // @ts-expect-error nothing says what finishes the work
    shop.externalEffect('undeclared', { on: 'order.paid', businessKey, perform: async () => null }),
  ).toThrow(/recovery: say what finishes the work/);
});

test('a result that JSON cannot hold does not compile', () => {
  shop.externalEffect('not-json', {
    on: 'order.paid',
    businessKey,
    // @ts-expect-error a function is no JSON
    perform: async () => ({ undo: () => {} }),
    recovery: park(),
  });
});

test('misspelt types, fields and options do not compile', () => {
  expect(() =>
    // @ts-expect-error no such type
    shop.externalEffect('type', { on: 'order.payed', businessKey, perform: async () => null, recovery: park() }),
  ).toThrow();
  shop.externalEffect('field', {
    on: 'order.paid',
    businessKey,
    // @ts-expect-error no such field
    perform: async ({ event }) => event.data.ordre as JsonValue,
    recovery: park(),
  });
  expect(() =>
    shop.externalEffect('option', {
      on: 'order.paid',
      businessKey,
      perform: async () => null,
      // @ts-expect-error no such option
      recovery: forwardsKey({ validfor: '24h' }),
    }),
  ).toThrow();
  // @ts-expect-error the recipient answers one of three
  reconcile(async () => 'perhaps');
});

test('the event of reconcile is typed where it is told', () => {
  reconcile(async ({ event }: ReconcileContext<OrderPaid>) => {
    expectTypeOf(event.data).toEqualTypeOf<{ order: string }>();
    return 'absent';
  });
  reconcile(async ({ event }) => {
    // @ts-expect-error of which type it is, nobody said
    void event.data.order;
    return 'absent';
  });
});

test('supersede sees the typed event and takes numbers, bigints and dates', () => {
  const declare = { on: 'order.paid', businessKey, perform: async () => null, recovery: park() } as const;
  shop.externalEffect('number', { ...declare, supersede: { by: ({ data }) => data.order, version: () => 1 } });
  shop.externalEffect('date', { ...declare, supersede: { by: () => 'x', version: (event) => event.receivedAt } });
  shop.externalEffect('text', {
    ...declare,
    // @ts-expect-error text has no order that a provider promises
    supersede: { by: () => 'x', version: () => '2026-02-03' },
  });
});
