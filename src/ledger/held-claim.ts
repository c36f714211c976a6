import type { SchemaName } from './schema-name.js';

/**
 * The claim of an external effect as the attempt that took it knows it. Every statement of that attempt names owner and
 * fence, so that after the lease was taken by another one it finds nothing to change.
 */
export interface HeldClaim {
  readonly tenant: string;
  readonly businessKey: string;
  /** A fresh UUID per execution. */
  readonly owner: string;
  /** One row per name that the effect has had. */
  readonly rows: readonly { readonly effect: string; readonly fence: number }[];
}

/** The condition that a row is still that of the claim whose {@link heldValues} are the parameters $1 to $5. */
export function stillHeld(alias: string): string {
  return `${alias}.tenant = $1 AND ${alias}.business_key = $2 AND ${alias}.owner = $3 AND ${alias}.state = 'claimed'
         AND (${alias}.effect, ${alias}.fence) IN (SELECT * FROM unnest($4::text[], $5::bigint[]))`;
}

/** Values of the parameters of {@link stillHeld}. */
export function heldValues({ tenant, businessKey, owner, rows }: HeldClaim): unknown[] {
  return [tenant, businessKey, owner, rows.map(({ effect }) => effect), rows.map(({ fence }) => fence)];
}

/** An UPDATE of the rows of a claim that is still held. */
export function updateHeld(schema: SchemaName, assignments: string): string {
  return `UPDATE ${schema}.effects AS c SET ${assignments} WHERE ${stillHeld('c')}`;
}

/** A number of ms as an interval. */
export function interval(parameter: string): string {
  return `make_interval(secs => ${parameter}::double precision / 1000)`;
}
