import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createOnefold, type Effect, forwardsKey, github, standardWebhooks, types } from '../../src/index.js';
import { type EffectTest, type TestKit, testEffect } from '../../src/testing/index.js';

// Each `@ts-expect-error` is a claim: the compiler refuses the line below it, and fails the check where it does not.
const shop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: {
    'order.paid': z.object({ order: z.string(), amount: z.string().transform(Number) }),
    'order.refunded': types<{ order: string; reason: string }>(),
  },
});
const hub = github('hub', { secrets: 'x', events: { push: types<{ ref: string }>() } });
const commit = async () => null;
const pay = shop.effect('pay', { on: 'order.paid', businessKey: ({ data }) => data.order, commit });
const both = shop.externalEffect('both', {
  on: ['order.paid', 'order.refunded'],
  businessKey: ({ data }) => data.order,
  recovery: forwardsKey({ validFor: '1 day' }),
  perform: async () => 1,
});
const build = hub.effect('build', { on: 'push', businessKey: ({ data }) => data.ref, commit });
// Nothing is opened before a test runs.
const options = { db: {} as never };

test('the data of a tested event are what the provider sends, not what the schema makes of them', () => {
  const one = testEffect(pay, { type: 'order.paid', data: { order: '1', amount: '12' } }, options);
  expectTypeOf(one).toEqualTypeOf<
    EffectTest<{ readonly type: 'order.paid'; readonly data: { order: string; amount: string } }>
  >();
  // @ts-expect-error the provider sends text
  testEffect(pay, { type: 'order.paid', data: { order: '1', amount: 12 } }, options);
  // @ts-expect-error no such field
  testEffect(pay, { type: 'order.paid', data: { ordre: '1', amount: '12' } }, options);
  expect(one.event).toMatch(/^shop\/evt_/);
});

test('a type that the effect does not act on does not compile, and is refused at run time too', () => {
  expect(() =>
    // @ts-expect-error it acts on order.paid alone
    testEffect(pay, { type: 'order.refunded', data: { order: '1', reason: 'broken' } }, options),
  ).toThrow(/'pay' acts on order.paid, and not on 'order.refunded'/);
});

test('of several types the type says which data belong to it', () => {
  testEffect(both, { type: 'order.refunded', data: { order: '1', reason: 'broken' } }, options);
  // @ts-expect-error a refund has no amount
  testEffect(both, { type: 'order.refunded', data: { order: '1', amount: '12' } }, options);
});

test('another event of the same effect is typed as the first', () => {
  const one = testEffect(pay, { type: 'order.paid', data: { order: '1', amount: '12' } }, options);
  one.another({ data: { order: '2', amount: '1' } });
  // @ts-expect-error no such field
  one.another({ data: { ordre: '2' } });
});

test('an event of the kit is typed by its source', () => {
  const check = (kit: TestKit) => {
    kit.event(shop, { type: 'order.refunded', data: { order: '1', reason: 'broken' }, id: 'evt_1' });
    // @ts-expect-error no such type
    kit.event(shop, { type: 'order.refundet', data: { order: '1', reason: 'broken' } });
    // @ts-expect-error a refund needs a reason
    kit.event(shop, { type: 'order.refunded', data: { order: '1' } });
    // @ts-expect-error of another source
    kit.event(hub, { type: 'order.paid', data: { order: '1', amount: '12' } });
  };
  expect(check).toBeTypeOf('function');
});

test('effects of all sources, types and kinds stay effects, and assignable to each other', () => {
  const effects: Effect[] = [pay, both, build];
  let local = pay;
  local = build;
  effects.push(local);
  const onefold = createOnefold({ sources: [shop, hub], effects: [pay, both, build] });
  expect(onefold.catalogue.effects).toEqual([pay, both, build]);
  // One whose types nobody knows any more takes any event, and judges it at run time.
  const some = effects[0] as (typeof effects)[0] & { kind: 'local' };
  expect(() => testEffect(some, { type: 'x', data: 1 }, options)).toThrow(/acts on order.paid, and not on 'x'/);
});
