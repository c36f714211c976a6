/**
 * How the requests to an endpoint with a rate limit are spaced.
 *
 * What is promised: in no ten seconds, both ends included, more than the limit and 5 % of it. With `n` requests allowed in
 * ten seconds, the one after them is at least 10.5 s behind the first. Half of the difference is given to credit (below),
 * the other half is left for what is under way: a request leaves its process some time after it was granted.
 *
 * Spacing is what the limit says and 5 % more, so that the counted rate stays below it even in short windows.
 */
export function spacing(rateLimit: string): string {
  return `make_interval(secs => greatest(1.05 / ${rateLimit}, 10.5 / greatest(1, floor(${rateLimit} * 10.5)))::float8)`;
}

/**
 * How much of the time by which a queued request comes late is made good to those behind it. Timers fire late, by some
 * 100 ms and never alike; without credit each such delay would lower the rate for good, and neighbours would collide.
 */
export const creditMs = 250;

/** Nobody waits longer for a turn without asking again, ms. */
export const longestTurnMs = 15 * 60_000;
