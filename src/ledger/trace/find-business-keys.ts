import { conditions } from '../conditions.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { prefixRange } from './prefix-range.js';

/** A business identity that a name may mean, and one of the events that have it. */
export interface FoundBusinessKey {
  readonly tenant: string;
  readonly effect: string;
  readonly businessKey: string;
  readonly eventKey: string;
}

/** What is known of a business identity. */
export interface BusinessKeyPart {
  /** All tenants where it is not given. */
  readonly tenant?: string | undefined;
  /** Every name that the effect has had; all effects where it is not given. */
  readonly effects?: readonly string[] | undefined;
  readonly businessKey: string;
  readonly whole: boolean;
}

/** Finds business identities by their key or its beginning; one row for each event that has one. */
export async function findBusinessKeys(
  sql: Sql,
  schema: SchemaName,
  { tenant, effects, businessKey, whole }: BusinessKeyPart,
  limit: number,
): Promise<readonly FoundBusinessKey[]> {
  const { where, values } = conditions({
    'business_key = ?': whole ? businessKey : undefined,
    'business_key ~>=~ ? AND business_key ~<~ ?': whole ? undefined : prefixRange(businessKey),
    'tenant = ?': tenant,
    'effect = ANY(?)': effects && [effects],
  });
  const { rows } = await sql<FoundBusinessKey>(
    `SELECT tenant, effect, business_key AS "businessKey", event_key AS "eventKey"
     FROM ${schema}.event_effects WHERE ${where} LIMIT ${limit}`,
    values,
  );
  return rows;
}
