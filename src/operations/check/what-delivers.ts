import { leaseMs as relayLeaseMs } from '../../publisher/start-taken.js';
import { durationInWords } from './duration-in-words.js';

/** A point at which whatever works on a delivery may die, and what finishes the work from there. */
export interface DeliveryRecovery {
  readonly point: 'queued' | 'taken' | 'started' | 'sending' | 'answered';
  readonly finishes: string;
}

/**
 * Answers for publishing what `whatFinishes` answers for an effect: if this was recorded and then crashed, what finishes
 * the work? The same for every type and every endpoint, so nothing of it is declared.
 */
export const whatDelivers: readonly DeliveryRecovery[] = [
  {
    point: 'queued',
    finishes:
      'Queued: publication and deliveries were committed together. Any relay takes them, woken by the commit, or by its look every second.',
  },
  {
    point: 'taken',
    finishes: `Taken by a relay: its lease ends within ${durationInWords(relayLeaseMs)}, then another one takes it; what was started already is found by the workflow ID.`,
  },
  {
    point: 'started',
    finishes: "Started: the workflow is Temporal's. Pauses, holds and limits are its timers; any worker goes on.",
  },
  {
    point: 'sending',
    finishes:
      'Attempt under way: its row was committed before the socket opened. Within 10 seconds Temporal misses its heartbeat; its outcome is unknown, and the next attempt of the budget sends the same bytes under the same webhook-id. An endpoint with atMostOnce gets no other: the delivery is a dead letter.',
  },
  {
    point: 'answered',
    finishes:
      'Answered, but not written down since PostgreSQL was away: the answer is in the history, and the workflow has it written before it goes on.',
  },
];
