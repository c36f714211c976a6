import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of this many per second (USER_HZ, fixed on all its platforms). */
const ticksPerSecond = 100;

/**
 * CPU seconds that the processes and all below them have used so far, those that have ended included. Read from /proc,
 * so on Linux alone; to 10 ms per process.
 */
export function cpuSeconds(roots: Readonly<Record<string, number>>): Record<string, number> {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => readStat(pid));
  const ticksOf = (pid: number): number =>
    processes
      .filter((one) => one.pid === pid || one.parent === pid)
      .reduce((sum, one) => sum + (one.pid === pid ? one.ticks : ticksOf(one.pid)), 0);
  return Object.fromEntries(Object.entries(roots).map(([name, pid]) => [name, ticksOf(pid) / ticksPerSecond]));
}

function readStat(pid: string): { pid: number; parent: number; ticks: number }[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; the numbers come after the last one.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    // User and system time, its own and that of children that were waited for.
    const ticks = fields.slice(11, 15).reduce((sum, value) => sum + value, 0);
    return [{ pid: Number(pid), parent, ticks }];
  } catch {
    return []; // Ended meanwhile.
  }
}
