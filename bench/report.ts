import { type Spread, spreadOf } from './statistics.js';
import { type SystemName, systemNames } from './systems.js';

/** What each figure is called, in the order of the table. */
export type Labels<Figure extends string> = Readonly<Record<Figure, string>>;

/** The figures of every repetition, by system. */
export type Measured<Figure extends string> = Readonly<Record<SystemName, readonly Readonly<Record<Figure, number>>[]>>;

/** One row of the comparison. */
export interface Comparison<Figure extends string> {
  readonly figure: Figure;
  readonly onefold: Spread;
  readonly bare: Spread;
  /** Onefold's median by the bare one's. */
  readonly ratio: number;
}

export function compare<Figure extends string>(
  labels: Labels<Figure>,
  measured: Measured<Figure>,
): readonly Comparison<Figure>[] {
  return (Object.keys(labels) as Figure[]).map((figure) => {
    const [onefold, bare] = systemNames.map((name) => spreadOf(measured[name].map((one) => one[figure])));
    if (!onefold || !bare) throw new TypeError('both systems are measured');
    return { figure, onefold, bare, ratio: onefold.median / bare.median };
  });
}

/** Median (smallest–largest) of both systems, and their ratio. */
export function table<Figure extends string>(
  title: string,
  labels: Labels<Figure>,
  comparisons: readonly Comparison<Figure>[],
): string {
  const rows = [
    [title, 'Onefold', 'bare', 'ratio'],
    ...comparisons.map(({ figure, onefold, bare, ratio }) => [
      labels[figure],
      written(onefold),
      written(bare),
      Number.isFinite(ratio) ? ratio.toFixed(2) : '–',
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return `${rows.map(line).join('\n')}\n`;
}

/** A median with the smallest and largest. */
export function written({ median, min, max }: Spread): string {
  const short = (value: number): string => value.toFixed(value < 100 ? 1 : 0);
  return `${short(median)} (${short(min)}–${short(max)})`;
}
