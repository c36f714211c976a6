/** A figure over several repetitions. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @param part From 0 to 1, by the nearest rank. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: percentile(values, 0.5), min: Math.min(...values), max: Math.max(...values) };
}
