import { OnefoldError } from '../../errors.js';
import type { OperationsContext } from '../context.js';
import type { NamedDelivery } from './read-delivery-name.js';
import { type ReplayAct, type ReplayDeliveryOutcome, type ReplayNamedOptions, replayNamed } from './replay-delivery.js';

/** A delivery that cannot be sent again now, among others that can. */
export interface RefusedReplay {
  readonly publication: string;
  readonly endpoint: string;
  readonly outcome: 'refused';
  readonly code: string;
  readonly because: string;
}

/** Replays side by side: each holds a connection to PostgreSQL meanwhile, of which operations have ten. */
export const replaysAtOnce = 8;

/** Sends one of many again; that it cannot be now is no reason to leave the others. What else fails is thrown. */
export async function replayOrRefuse(
  context: OperationsContext,
  delivery: NamedDelivery,
  act: ReplayAct,
  options: ReplayNamedOptions,
): Promise<ReplayDeliveryOutcome | RefusedReplay> {
  try {
    return await replayNamed(context, delivery, act, options);
  } catch (error) {
    if (!(error instanceof OnefoldError) || error.code !== 'replay_refused') throw error;
    const { publication, endpoint } = delivery;
    return { publication, endpoint, outcome: 'refused', code: error.code, because: error.message };
  }
}
