import { defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { searchAttributeNames } from './contract.js';
import { maximumAttempts } from './delivery-pauses.js';
import { type DeliveryRun, givesUpAt } from './delivery-run.js';

/** States of a delivery as lists filter by them. */
export type ShownDelivery = 'waiting' | 'delivered' | 'abandoned' | 'dead_lettered';

/**
 * Shows where the delivery stands: as current details of the Web UI, and as a search attribute where that is registered.
 * A delivery that succeeds at once costs one upsert, at its end.
 */
export function showDelivery(run: DeliveryRun, state: ShownDelivery): void {
  const { input, attempts, policy, nextTryAt } = run;
  const last = run.reasons.at(-1);
  const lines = [
    `**${state}** · ${input.publication} → ${input.endpoint}`,
    `- webhook-id \`${input.eventId}\`, ${input.type}`,
    `- attempts: ${attempts} of ${maximumAttempts(policy)}${last ? `, last: ${last.code}` : ''}`,
  ];
  if (state === 'waiting' && nextTryAt !== undefined) {
    lines.push(`- next try at ${iso(nextTryAt)}, gives up at ${iso(givesUpAt(run))}`);
  }
  setCurrentDetails(lines.join('\n'));
  if (!input.searchAttributes.includes(searchAttributeNames.state) || run.shown === state) return;
  run.shown = state;
  upsertSearchAttributes([{ key: defineSearchAttributeKey(searchAttributeNames.state, 'KEYWORD'), value: state }]);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
