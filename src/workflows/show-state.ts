import { defineSearchAttributeKey, type SearchAttributeUpdatePair } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { displayEvent } from '../identity/event-identity.js';
import { searchAttributeNames } from './contract.js';
import type { EventRun } from './event-run.js';

/** States as lists filter by them. */
export type ShownState = 'waiting' | 'parked' | 'done' | 'abandoned' | 'dead_lettered';

/** A keyword list is one value, and a value over 2,048 bytes makes the server end the run. */
const indexedKeysLimit = 10;

/**
 * Shows where the event comes to rest: as current details of the Web UI, and as search attributes, of which only those
 * are set that the worker found registered, since an unregistered one would leave the run running for ever. Called at
 * pauses and at the end, so that a smooth event costs one upsert.
 */
export function showState(run: EventRun, reached: ShownState): void {
  // While one effect waits for a person, whatever the others do is not what the event needs.
  const state = reached === 'waiting' && run.progress.some(({ parked }) => parked) ? 'parked' : reached;
  setCurrentDetails([`**${state}** · ${displayEvent(run.input)}`, ...run.progress.map(line)].join('\n'));
  const registered = run.plan?.searchAttributes ?? [];
  const pairs: SearchAttributeUpdatePair[] = [];
  if (registered.includes(searchAttributeNames.state)) {
    pairs.push({ key: defineSearchAttributeKey(searchAttributeNames.state, 'KEYWORD'), value: state });
  }
  if (registered.includes(searchAttributeNames.businessKey) && run.progress.length > 0) {
    const value = [...new Set(run.progress.map(({ planned }) => planned.indexedKey))].slice(0, indexedKeysLimit);
    pairs.push({ key: defineSearchAttributeKey(searchAttributeNames.businessKey, 'KEYWORD_LIST'), value });
  }
  // Each upsert is an event of the history, and most pauses change nothing that lists filter by.
  const shown = JSON.stringify(pairs.map(({ value }) => value));
  if (pairs.length === 0 || shown === run.shown) return;
  run.shown = shown;
  upsertSearchAttributes(pairs);
}

function line({ planned, attempts, reasons, nextTryAt, ended, parked }: EventRun['progress'][number]): string {
  const about = `- **${planned.effect}** \`${planned.indexedKey}\``;
  const last = reasons.at(-1);
  const why = last ? ` after ${last.code}` : '';
  if (ended) return `${about}: ${ended.outcome}${ended.outcome === 'failed' ? why : ''}, attempts: ${ended.attempts}`;
  if (parked) return `${about}: parked: \`onefold resolve ${planned.effect} ${planned.indexedKey}\`${why}`;
  const when = nextTryAt === undefined ? '' : `, next try at ${new Date(nextTryAt).toISOString()}${why}`;
  return `${about}: attempts: ${attempts} of ${planned.policy.maximumAttempts}${when}`;
}
