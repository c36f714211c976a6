/** How often each of some things happened, by its name. */
export type Counts = Record<string, number>;

/** Counts one more. */
export function count(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

export function sumOf(counts: Counts): number {
  return Object.values(counts).reduce((total, number) => total + number, 0);
}

/** In words, by name: `first_run 3, duplicate_done 1`. */
export function inWords(counts: Counts): string {
  return Object.entries(counts)
    .sort(([left], [right]) => left.localeCompare(right))
    .map(([name, number]) => `${name} ${number}`)
    .join(', ');
}
