import { setTimeout as sleep } from 'node:timers/promises';
import type { CliStage, Delivered } from './cli-stage.js';

/** A machine that is busy with other tests answers within as many. */
const tries = 40;

/**
 * Delivers an event as its provider would: again while the answer is 503, which says that Temporal did not take it in time, as
 * where many tests share two cores.
 */
export async function deliverUntilTaken(
  stage: CliStage,
  ...delivery: Parameters<CliStage['deliver']>
): Promise<Delivered> {
  for (let tried = 1; ; tried++) {
    const answer = await stage.deliver(...delivery);
    if (answer.status !== 503 || tried === tries) return answer;
    await sleep(250);
  }
}
