import { setTimeout as sleep } from 'node:timers/promises';
import { type EndedSend, endSend } from '../ledger/sends/end-send.js';
import { judgeHealth } from '../publisher/endpoint-health.js';
import { orAborted } from '../runtime/or-aborted.js';
import type { SendEnd } from '../workflows/delivery-contract.js';
import type { DeliveryDependencies } from './delivery-activities.js';
import { tellNext } from './tell-next.js';

/** Pauses between the tries to write an end while PostgreSQL is away, ms. What fails then, the workflow sees to. */
const pausesMs = [100, 400, 1000];

/**
 * Writes down how an attempt ended, and judges the health of its endpoint by that. Where PostgreSQL is away the end is
 * handed back, so that the workflow has it written before it goes on: an answer that was had is never asked for again.
 *
 * @param until By then it is handed back at the latest, Unix ms. A server whose packets are lost is waited for longer than
 * an attempt has, and an attempt that ends without a word is sent again.
 */
export async function writeSendEnd(
  deps: DeliveryDependencies,
  end: SendEnd,
  until: number,
): Promise<{ readonly unrecorded?: SendEnd }> {
  // Nobody hears an attempt that was frozen beyond its time: what it does not write itself nobody writes.
  const unheard = Date.now() >= until;
  const signal = unheard ? undefined : AbortSignal.timeout(until - Date.now());
  for (let tries = 0; ; tries++) {
    try {
      await orAborted(recordSendEnd(deps, end), signal);
      return {};
    } catch (error) {
      const pauseMs = pausesMs[tries];
      if (pauseMs === undefined || (!unheard && Date.now() + pauseMs >= until)) {
        deps.log.warn({ ...end, response: undefined, reason: (error as Error).message }, 'delivery.unrecorded');
        return { unrecorded: end };
      }
      await sleep(pauseMs);
    }
  }
}

/** Writes it once; repeating it for the same attempt changes nothing. */
export async function recordSendEnd(deps: DeliveryDependencies, end: SendEnd): Promise<EndedSend> {
  const { ledger, log, metrics } = deps;
  const ended = await endSend(ledger.database.query, ledger.schema, end);
  if (ended.disabled) {
    metrics.endpointsDisabled.inc({ code: 'endpoint_gone' });
    log.warn({ tenant: end.tenant, endpoint: end.endpoint, code: 'endpoint_gone' }, 'endpoint.disabled');
  }
  tellNext(deps, end, ended.next ?? []);
  await judgeHealth(deps, ended, end);
  return ended;
}
