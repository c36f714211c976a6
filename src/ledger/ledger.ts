import type { Database } from './database.js';
import type { SchemaName } from './schema-name.js';

/** The ledger: a database and the schema in it. What every statement of this folder is given. */
export interface Ledger<Tx = unknown> {
  readonly database: Database<Tx>;
  readonly schema: SchemaName;
}
