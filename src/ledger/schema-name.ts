import { OnefoldError } from '../errors.js';

declare const brand: unique symbol;

/** The ledger's schema as a quoted SQL identifier; users' `search_path` stays untouched, so each statement names it. */
export type SchemaName = string & { readonly [brand]: 'SchemaName' };

/** The schema where nothing else is configured. */
export const defaultSchema = 'onefold';

/** @throws {OnefoldError} `config_invalid` for anything but a plain lower-case SQL name. */
export function schemaName(name: string): SchemaName {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name) || name.startsWith('pg_')) {
    throw new OnefoldError(
      'config_invalid',
      `schema: expected a lower-case SQL name that does not begin with pg_, got ${JSON.stringify(name)}`,
    );
  }
  return `"${name}"` as SchemaName;
}
