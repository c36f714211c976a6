import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { PublicationOf, Published } from '../../src/publisher/publication.js';
import { type Publications, publications } from '../../src/publisher/publications.js';
import type { EventSchemas } from '../../src/sources/source.js';
import { types } from '../../src/sources/types.js';

// Each `@ts-expect-error` is a claim: the compiler refuses the line below it, and fails the check where it does not.
const outgoing = publications({
  events: {
    'order.confirmed': z.object({ order: z.string(), amount: z.string().transform(Number) }),
    'user.created': types<{ user: string }>(),
  },
});
type Outgoing = (typeof outgoing)['events'];

/** What `createOnefold` makes of a catalogue, and of none. */
function application<const Events extends EventSchemas = Record<never, never>>(_options: {
  readonly publications?: Publications<Events>;
}): { publish(publication: PublicationOf<Events>): Promise<Published> } {
  return { publish: async () => Promise.reject(new Error('a stand-in')) };
}
const app = application({ publications: outgoing });
const publish = (publication: PublicationOf<Outgoing>) => void app.publish(publication).catch(() => {});

test('the data are what the schema of the type takes', () => {
  publish({ publication: 'p', type: 'order.confirmed', data: { order: '42', amount: '7' } });
  publish({ publication: 'p', type: 'user.created', data: { user: 'u' }, tenant: 'acme', eventId: 'e', retry: false });
  expectTypeOf<Extract<PublicationOf<Outgoing>, { type: 'order.confirmed' }>['data']>().toEqualTypeOf<{
    order: string;
    amount: string;
  }>();
  expectTypeOf(app.publish).returns.resolves.toEqualTypeOf<Published>();
});

test('a misspelt type, field or option does not compile', () => {
  // @ts-expect-error no such type
  publish({ publication: 'p', type: 'order.confirmd', data: { order: '42', amount: '7' } });
  // @ts-expect-error no such field in the data of this type
  publish({ publication: 'p', type: 'order.confirmed', data: { order: '42', amount: '7', user: 'u' } });
  // @ts-expect-error the data of another type
  publish({ publication: 'p', type: 'order.confirmed', data: { user: 'u' } });
  // @ts-expect-error a field is missing
  publish({ publication: 'p', type: 'order.confirmed', data: { order: '42' } });
  // @ts-expect-error no such field
  publish({ publication: 'p', type: 'user.created', data: { user: 'u' }, eventID: 'e' });
  // @ts-expect-error retries are not demanded but refused
  publish({ publication: 'p', type: 'user.created', data: { user: 'u' }, retry: true });
  // @ts-expect-error without an identity nothing is recognised
  publish({ type: 'user.created', data: { user: 'u' } });
  expect(() =>
    // @ts-expect-error no such type
    publications({ events: { a: types<1>() }, retry: { b: { schedule: [] } } }),
  ).toThrow(/unknown option 'b'/);
  expect(() =>
    // @ts-expect-error no such option
    publications({ events: { a: types<1>() }, retry: { a: { pauses: [] } } }),
  ).toThrow(/unknown option 'pauses'/);
});

test('a declaration publishes by the same types', () => {
  const inside = async () => {
    await outgoing.publish({ publication: 'p', type: 'user.created', data: { user: 'u' } });
    // @ts-expect-error the data of another type
    await outgoing.publish({ publication: 'p', type: 'user.created', data: { order: 'u' } });
  };
  expectTypeOf(inside).returns.resolves.toBeVoid();
});

test('an application without publications publishes nothing, and stands for any other', () => {
  const silent = application({});
  // @ts-expect-error there is no type to publish
  void silent.publish({ publication: 'p', type: 'user.created', data: {} }).catch(() => {});
  const any: ReturnType<typeof application> = app;
  expect(any).toBe(app);
});
