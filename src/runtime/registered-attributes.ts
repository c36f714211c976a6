import type { Client } from '@temporalio/client';
import type { Logger } from './logger.js';
import { readSearchAttributes } from './temporal.js';

/** Which search attributes a start may name. */
export interface RegisteredAttributes {
  /** Those found registered; none while that is not known, so that starts work meanwhile. */
  current(): Promise<ReadonlySet<string>>;
  /** Called when Temporal refused a start: none is named until the list was read anew. */
  distrust(): void;
}

/** How long the first starts of a process wait for the list, ms; a start without attributes is no loss. */
const firstReadMs = 300;
/** Between two reads, where one failed or what it said was refused, ms. */
const rereadMs = 10_000;

const none: ReadonlySet<string> = new Set();

/** Reads the list on first use and keeps it for the life of the process, unless a start is refused. */
export function createRegisteredAttributes(deps: {
  readonly client: Client;
  readonly namespace: string;
  readonly log: Logger;
}): RegisteredAttributes {
  let known: ReadonlySet<string> | undefined;
  let reading: Promise<void> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  const read = (): Promise<void> => {
    readAt = performance.now();
    reading = readSearchAttributes(deps.client, deps.namespace)
      .then(
        (attributes) => {
          known = attributes;
          deps.log.debug({ attributes: [...attributes] }, 'temporal.search_attributes');
        },
        (error: Error) => deps.log.debug({ reason: error.message }, 'temporal.search_attributes_unknown'),
      )
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };

  return {
    async current() {
      if (known) return known;
      if (!reading && performance.now() - readAt < rereadMs) return none;
      const pause = new Promise<void>((resolve) => setTimeout(resolve, firstReadMs).unref());
      await Promise.race([reading ?? read(), pause]);
      return known ?? none;
    },
    distrust() {
      known = undefined;
      if (!reading && performance.now() - readAt >= rereadMs) void read();
    },
  };
}
