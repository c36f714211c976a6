/** Queues that one turn of a relay comes by; the next goes on behind them. */
export const relayQueues = 200;

/**
 * Deliveries of one endpoint, at the most, that may be started and not yet sent: thrice its concurrency, see `windowOf`. What
 * is beyond stays in the table, where it costs nothing:
 * an endpoint that is paused, slow or flooded has no more open workflows than this.
 */
export const relayWindow = 200;
