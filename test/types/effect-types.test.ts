import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createOnefold, perEvent, type ReceivedEvent, standardWebhooks, stripe, types } from '../../src/index.js';

// Each `@ts-expect-error` is a claim: the compiler refuses the line below it, and fails the check where it does not.
const OrderPaid = z.object({ order: z.string(), amount: z.number() });
const secrets = 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=';
const shop = standardWebhooks('shop', {
  secrets,
  events: { 'order.paid': OrderPaid, 'order.refunded': types<{ order: string; reason: string }>() },
});
const commit = async () => null;

test('the event is typed by source, type and schema', () => {
  shop.effect('typed', {
    on: 'order.paid',
    businessKey: (event) => {
      expectTypeOf(event).toEqualTypeOf<ReceivedEvent<'shop', 'order.paid', { order: string; amount: number }>>();
      return `shipment:${event.data.order}`;
    },
    commit,
  });
});

test('several types make a union that the type discriminates', () => {
  shop.effect('union', {
    on: ['order.paid', 'order.refunded'],
    businessKey: (event) => {
      if (event.type === 'order.refunded') {
        expectTypeOf(event.data).toEqualTypeOf<{ order: string; reason: string }>();
        return event.data.reason;
      }
      expectTypeOf(event.data.amount).toBeNumber();
      return event.data.order;
    },
    commit,
  });
});

test('a misspelt type, field or option does not compile, and is refused at run time too', () => {
  expect(() =>
    // @ts-expect-error no such type
    shop.effect('misspelt-type', { on: 'order.payed', businessKey: perEvent, commit }),
  ).toThrow(/has no event type "order.payed"/);
  shop.effect('misspelt-field', {
    on: 'order.paid',
    // @ts-expect-error no such field
    businessKey: (event) => event.data.ordre,
    commit,
  });
  shop.effect('field-of-another-type', {
    on: ['order.paid', 'order.refunded'],
    // @ts-expect-error only a refund has a reason
    businessKey: (event) => event.data.reason,
    commit,
  });
  expect(() =>
    // @ts-expect-error no such option
    shop.effect('misspelt-option', { on: 'order.paid', businessKey: perEvent, commit, retires: {} }),
  ).toThrow(/unknown option 'retires'/);
  expect(() =>
    // @ts-expect-error no such option
    standardWebhooks('shop', { secrets, events: { a: OrderPaid }, acknowlege: 'settled' }),
  ).toThrow(/did you mean 'acknowledge'/);
  const pay = stripe('pay', { secrets: 'whsec_test', events: { 'charge.succeeded': types<{ id: string }>() } });
  expect(() =>
    // @ts-expect-error the type has to be one that the source names
    pay.effect('x', { on: 'charge.failed', businessKey: perEvent, commit }),
  ).toThrow(/has no event type/);
});

test('a result that JSON cannot hold does not compile', () => {
  shop.effect('bad-result', {
    on: 'order.paid',
    businessKey: perEvent,
    // @ts-expect-error a Map is no JSON value
    commit: async () => new Map(),
  });
  shop.effect('no-result', { on: 'order.paid', businessKey: perEvent, commit: async () => {} });
});

test('the transaction is the one of the built-in database', () => {
  shop.effect('tx', {
    on: 'order.paid',
    businessKey: perEvent,
    commit: async ({ tx }) => {
      expectTypeOf(tx.query).toBeFunction();
      // @ts-expect-error a transaction does not commit itself
      tx.commit;
    },
  });
});

test('an effect of a source that is not listed is refused', () => {
  const effect = shop.effect('stray', { on: 'order.paid', businessKey: perEvent, commit });
  expect(() => createOnefold({ sources: [], effects: [effect] })).toThrow(/belongs to source 'shop'/);
});
