import { setTimeout as sleep } from 'node:timers/promises';
import { type Counts, count } from './counts.js';
import { frozenMs } from './external-effects.js';
import type { Random } from './random.js';
import type { Part } from './start-node.js';
import type { Parts } from './topology.js';

/**
 * Hurts one part after the other, at random moments, until told to stop: kills receivers, workers, Temporal and
 * PostgreSQL, and freezes workers in the middle of what they do. Every part is back when it resolves.
 *
 * @param pausesMs Between the end of one fault and the next.
 */
export async function injectFaults(
  topology: Parts,
  random: Random,
  signal: AbortSignal,
  pausesMs: readonly [least: number, most: number] = [300, 2500],
): Promise<Counts> {
  const faults: Counts = {};
  const frozen: Promise<void>[] = [];
  let freezing: Part | undefined;
  while (!signal.aborted) {
    await sleep(random.whole(...pausesMs), undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    const draw = random.next();
    if (draw < 0.1 && !freezing) {
      const worker = random.pick(topology.workers);
      freezing = worker;
      count(faults, `freeze ${kindOf(worker)}`);
      frozen.push(
        freeze(worker).finally(() => {
          freezing = undefined;
        }),
      );
      continue;
    }
    const group = draw < 0.45 ? topology.workers : draw < 0.75 ? topology.receivers : topology.servers;
    const part = random.pick(group.filter((candidate) => candidate !== freezing));
    count(faults, `kill ${kindOf(part)}`);
    await part.kill();
    await sleep(random.whole(0, 1500));
    await part.restart();
  }
  await Promise.all(frozen);
  return faults;
}

function kindOf({ name }: Part): string {
  return name.replace(/-\d$/, '');
}

/** Longer than an attempt's timeout and its lease: it is a zombie when it wakes. */
async function freeze(worker: Part): Promise<void> {
  const pid = worker.pid();
  signal(pid, 'SIGSTOP');
  await sleep(frozenMs);
  signal(pid, 'SIGCONT');
}

/** A process that ended by itself is the verdict's to tell, not a reason to stop here. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
