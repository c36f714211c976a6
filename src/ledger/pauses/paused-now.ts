import { OnefoldError } from '../../errors.js';
import type { SchemaName } from '../schema-name.js';

/**
 * Whether the effect or its source is paused, for the event's tenant or for all. It stands inside the statements that
 * claim, so that no attempt begins after a pause was committed. Parameters $1 and $2 are the tenant and the effect's names.
 *
 * @param source The parameter that the source is, such as `$9`.
 */
export function pausedNow(schema: SchemaName, source: string): string {
  return `EXISTS (SELECT 1 FROM ${schema}.pauses p
                      WHERE (p.every_tenant OR p.tenant = $1)
                        AND ((p.kind = 'effect' AND p.name = ANY($2)) OR (p.kind = 'source' AND p.name = ${source})))`;
}

/** The error of an attempt that a pause keeps from beginning. It spends nothing of a budget. */
export function pausedMeanwhile(): OnefoldError {
  return new OnefoldError('effect_paused', 'the effect, or its source, is paused: it waits until onefold resume');
}
