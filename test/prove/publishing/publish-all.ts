import { setTimeout as sleep } from 'node:timers/promises';
import { type Counts, count } from '../counts.js';
import type { Random } from '../random.js';
import { onefold } from './publisher.js';
import { type PublishedType, publishedTypes } from './sources.js';

/** One message of a proof. */
export interface ProofPublication {
  readonly publication: string;
  readonly type: PublishedType;
  /** How often it is published although it was accepted. */
  readonly repeats: number;
  /** Once it is accepted. */
  eventId?: string;
}

export function makePublications(total: number, random: Random): ProofPublication[] {
  return Array.from({ length: total }, (_, number) => ({
    publication: `order:${number}:v1`,
    type: random.pick(publishedTypes),
    repeats: random.pick([0, 0, 0, 1, 2]),
  }));
}

/**
 * Publishes each as an application does that does not know what became of a call that failed: again, under the same
 * identity, until it is accepted.
 *
 * @param hopeless Asked before each call: true where nobody is left to go on for.
 * @returns What was answered, counted.
 */
export async function publishAll(
  publications: readonly ProofPublication[],
  concurrency: number,
  random: Random,
  hopeless: () => boolean,
  progress: (line: string) => void,
): Promise<Counts> {
  const paths: Counts = {};
  let next = 0;
  const publishOne = async (one: ProofPublication): Promise<void> => {
    for (let left = one.repeats; left >= 0 && !hopeless(); ) {
      const path = await publishOnce(one);
      count(paths, path);
      if (path !== 'refused') left -= 1;
      await sleep(random.whole(0, 300));
    }
  };
  const publisher = async (): Promise<void> => {
    for (let one = publications[next++]; one; one = publications[next++]) {
      await publishOne(one);
      if (next % 100 === 0) progress(`${next} of ${publications.length} published`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, publisher));
  return paths;
}

/** @returns How the ledger answered. */
export async function publishOnce(one: ProofPublication): Promise<string> {
  const { publication, type } = one;
  try {
    const { path, eventId } = await onefold.publish({ publication, type, data: { order: publication } });
    one.eventId ??= eventId;
    return path;
  } catch {
    return 'refused';
  }
}
