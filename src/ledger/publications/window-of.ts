/**
 * SQL for the number of deliveries of an endpoint that may be started and not yet sent: thrice what it takes at once, so
 * that a free slot never waits for a relay; 30 at least, and no more than the bound. Each one beyond costs an activity that
 * is refused, a timer and a place in Temporal's queues, and gains nothing.
 *
 * @param concurrency SQL of the endpoint's.
 * @param bound SQL of the most.
 */
export function windowOf(concurrency: string, bound: string): string {
  return `least(${bound}::bigint, greatest(30, 3 * coalesce(${concurrency}, 10)))`;
}
