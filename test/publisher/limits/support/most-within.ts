/** The most moments that lie within any stretch of so many ms, both its ends included. Moments in ms, in any order. */
export function mostWithin(moments: readonly number[], stretchMs: number): number {
  const sorted = moments.toSorted((one, other) => one - other);
  let first = 0;
  return sorted.reduce((most, moment, last) => {
    while (moment - (sorted[first] as number) > stretchMs) first += 1;
    return Math.max(most, last - first + 1);
  }, 0);
}
