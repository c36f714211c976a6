import { adoptedDigest } from '../../workflows/contract.js';
import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { type AdoptedRow, columnsOf } from './adopted-row.js';

/** Which effect is adopted, and by which act. */
export interface Adoption {
  /** The name that the ledger goes by. */
  readonly effect: string;
  /** Every name that the effect has had. */
  readonly names: readonly string[];
  readonly act: string;
}

/**
 * Writes completions for business keys of which the ledger knows nothing; whatever it knows stands. An attempt that is just
 * committing is waited for, by the uniqueness that decides between attempts.
 *
 * Rows are taken in the order given: sort them, so that two adoptions never wait for each other.
 *
 * @returns The places in the list of the rows that were written.
 */
export async function adoptClaims(
  sql: Sql,
  schema: SchemaName,
  { effect, names, act }: Adoption,
  rows: readonly AdoptedRow[],
): Promise<ReadonlySet<number>> {
  const { rows: written } = await sql<{ place: string }>(
    `WITH given AS (
       SELECT given.*, (row_number() OVER (PARTITION BY given.tenant, given.business_key ORDER BY given.place)) AS turn
       FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[])
         WITH ORDINALITY AS given (tenant, business_key, event_key, event, result, done_at, place)
     ), written AS (
       INSERT INTO ${schema}.effects
         (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest, claimed_at, done_at, result,
          adopted_by)
       SELECT tenant, $1::text, business_key, 'done', 1, gen_random_uuid(), event_key, event, '${adoptedDigest}', done_at, done_at,
              result, $3::text
       FROM given
       WHERE turn = 1 AND NOT EXISTS (
         SELECT 1 FROM ${schema}.effects known
         WHERE known.tenant = given.tenant AND known.effect = ANY($2) AND known.business_key = given.business_key)
       ORDER BY place
       ON CONFLICT DO NOTHING
       RETURNING tenant, business_key
     )
     SELECT given.place FROM written JOIN given USING (tenant, business_key) WHERE turn = 1`,
    [effect, names, act, ...columnsOf(rows)],
  );
  return new Set(written.map(({ place }) => Number(place) - 1));
}
