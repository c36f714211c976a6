import { ledgerName } from '../effects/catalogue.js';
import type { Effect } from '../effects/effect.js';
import type { Ledger } from '../ledger/ledger.js';
import { readResult } from '../ledger/read-result.js';
import { within } from '../runtime/within.js';
import type { EffectEnd, ProcessEventResult } from '../workflows/contract.js';

/** A result in the ledger is worth this much of the caller's time, ms. */
const readResultMs = 1_000;

/**
 * Joins the effects' results into one JSON object keyed by the effects' names. It is joined as text, so that a number
 * beyond 2^53 leaves as it was stored. A result without a fence is not from an attempt of ours and stays out, and so
 * does one that stays in the ledger while PostgreSQL is away.
 *
 * @returns JSON text, or undefined where no effect has a result to show.
 */
export async function exposedResult(
  deps: { readonly ledger: Ledger; readonly effects: readonly Effect[] },
  tenant: string,
  result: ProcessEventResult,
): Promise<string | undefined> {
  const members = await Promise.all(
    result.effects.map(async (end) => {
      const json = typeof end.fence === 'number' ? await resultText(deps, tenant, end) : undefined;
      return json === undefined ? [] : [`${JSON.stringify(end.effect)}:${json}`];
    }),
  );
  const shown = members.flat();
  return shown.length === 0 ? undefined : `{${shown.join(',')}}`;
}

async function resultText(
  { ledger, effects }: { readonly ledger: Ledger; readonly effects: readonly Effect[] },
  tenant: string,
  { effect, businessKey, result }: EffectEnd,
): Promise<string | undefined> {
  if (result === undefined || 'json' in result) return result?.json;
  if (businessKey === undefined) return undefined;
  const declared = effects.find(({ name }) => name === effect);
  const key = { tenant, effect: declared ? ledgerName(declared) : effect, businessKey };
  const reading = readResult(ledger.database.query, ledger.schema, key);
  return within(readResultMs, reading, () => new Error('the ledger did not answer in time')).catch(() => undefined);
}
