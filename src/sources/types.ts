import type { StandardSchemaV1 } from '@standard-schema/spec';

/**
 * A schema for types only: it checks nothing and lets everything through, so that the data of an event are typed by a
 * provider's own declarations.
 *
 * @example
 * ```ts
 * events: { 'invoice.paid': types<Stripe.InvoicePaidEvent>() }
 * ```
 */
export function types<T>(): StandardSchemaV1<T, T> {
  return { '~standard': { version: 1, vendor: 'onefold', validate: (value) => ({ value: value as T }) } };
}
