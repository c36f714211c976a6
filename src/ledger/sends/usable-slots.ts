import { failingSince } from './failing-since.js';

/** An endpoint that has been failing for longer is sent less at once, s. */
const patienceSeconds = 30;

/** What is left to it: one of so many slots, and one at least. */
const share = 5;

/**
 * How many of an endpoint's slots may be held, those with the lowest numbers. One that hangs keeps a worker busy for its
 * whole timeout with each request, so while it fails it gets few of them; its next success restores all.
 *
 * A slot above the number may stand, for a request that was begun under a larger one.
 */
export function usableSlots(endpoint: string): string {
  return `CASE WHEN ${failingSince(endpoint)} < clock_timestamp() - interval '${patienceSeconds} seconds'
                   THEN greatest(1, ${endpoint}.concurrency / ${share}) ELSE ${endpoint}.concurrency END`;
}
