import { OnefoldError } from '../errors.js';
import { checkTenant } from '../identity/check-tenant.js';

/** What every list can be asked for. */
export interface ListOptions {
  /** Default ''. */
  readonly tenant?: string;
  /** The `next` of the page before. */
  readonly cursor?: string;
  /** Rows of a page, 1 to 200. Default 50. */
  readonly limit?: number;
}

/** A time that a list is restricted to. */
export interface PublishedWithin {
  /** Published at or after. */
  readonly since?: Date;
  /** Published before. */
  readonly until?: Date;
}

/**
 * Checks what a list is restricted by.
 *
 * @param states What its `state` may be.
 * @throws {OnefoldError} `identity_invalid` for a tenant that is none; `request_invalid` naming the filter.
 */
export function readFilter<Filter extends Readonly<Record<string, unknown>>>(
  { tenant = '' }: ListOptions,
  filter: Filter,
  states: readonly string[] = [],
): { readonly tenant: string } & { readonly [Name in keyof Filter]: Filter[Name] } {
  for (const [name, value] of Object.entries(filter)) {
    if (value instanceof Date && Number.isNaN(value.getTime())) {
      throw new OnefoldError('request_invalid', `${name}: expected a time, such as 2026-02-03T04:05:06Z`);
    }
    if (typeof value === 'string' && (value === '' || value.includes('\0'))) {
      throw new OnefoldError('request_invalid', `${name}: expected text that is not blank`);
    }
  }
  const { state } = filter;
  if (state !== undefined && !states.includes(state as string)) {
    throw new OnefoldError('request_invalid', `state: expected one of ${states.join(', ')}`);
  }
  return { tenant: checkTenant(tenant), ...filter };
}
