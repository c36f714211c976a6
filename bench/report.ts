import type { Figures } from './measure.js';
import { type Spread, spreadOf } from './statistics.js';
import { type SystemName, systemNames } from './systems.js';

/** The figures of every repetition, by system. */
export type Measured = Readonly<Record<SystemName, readonly Figures[]>>;

/** One row of the comparison. */
export interface Comparison {
  readonly figure: keyof Figures;
  readonly onefold: Spread;
  readonly bare: Spread;
  /** Onefold's median by the bare one's. */
  readonly ratio: number;
}

const labels: Readonly<Record<keyof Figures, string>> = {
  ackP50: 'acknowledgement p50, 1 at a time, ms',
  ackP99: 'acknowledgement p99, 1 at a time, ms',
  ackRate: 'acknowledgements per second, 16 at a time',
  endToEndP50: 'end to end p50, 1 at a time, ms',
  endToEndP99: 'end to end p99, 1 at a time, ms',
  effectRate: 'effects per second, 16 at a time',
  cpuTotal: 'CPU-seconds per 1,000 events',
  cpuReceiver: '  receiver',
  cpuWorker: '  worker',
  cpuTemporal: '  Temporal',
  cpuPostgres: '  PostgreSQL',
};

export function compare(measured: Measured): readonly Comparison[] {
  return (Object.keys(labels) as (keyof Figures)[]).map((figure) => {
    const [onefold, bare] = systemNames.map((name) => spreadOf(measured[name].map((one) => one[figure])));
    if (!onefold || !bare) throw new TypeError('both systems are measured');
    return { figure, onefold, bare, ratio: onefold.median / bare.median };
  });
}

/** Median (smallest–largest) of both systems, and their ratio. */
export function table(comparisons: readonly Comparison[]): string {
  const rows = [
    ['', 'Onefold', 'bare', 'ratio'],
    ...comparisons.map(({ figure, onefold, bare, ratio }) => [
      labels[figure],
      written(onefold),
      written(bare),
      ratio.toFixed(2),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return `${rows.map(line).join('\n')}\n`;
}

function written({ median, min, max }: Spread): string {
  const short = (value: number): string => value.toFixed(value < 100 ? 1 : 0);
  return `${short(median)} (${short(min)}–${short(max)})`;
}
