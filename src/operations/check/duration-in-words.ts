const units = [
  { name: 'day', ms: 86_400_000, from: 2 },
  { name: 'hour', ms: 3_600_000, from: 1 },
  { name: 'minute', ms: 60_000, from: 1 },
  { name: 'second', ms: 1000, from: 1 },
] as const;

/**
 * A duration for people: `90 seconds`, `24 hours`, `3.1 days`. In the largest unit of which there are two or exactly one,
 * days from two on; with one decimal below ten.
 */
export function durationInWords(ms: number): string {
  const unit = units.find((one) => ms >= 2 * one.ms || (one.from === 1 && ms === one.ms));
  if (!unit) return `${Math.round(ms)} ms`;
  const value = round(ms / unit.ms);
  return `${value} ${unit.name}${value === 1 ? '' : 's'}`;
}

function round(value: number): number {
  return value < 10 ? Math.round(value * 10) / 10 : Math.round(value);
}
