/** What {@link takeFrom} hands out. */
export interface TakenFrom<Item> {
  /**
   * The next item; undefined at the end.
   *
   * @param patience How long to wait, ms; Infinity without an end.
   * @returns `late` where nothing came in time, or {@link wake} was called: the next call goes on waiting for the same item.
   * @throws What the list or stream throws.
   */
  next(patience: number): Promise<{ readonly item: Item } | 'late' | undefined>;
  /** Ends a wait. */
  wake(): void;
  /** Lets the source close what it holds. One that is just making an item does so when it has; it is not waited for. */
  close(): Promise<void>;
}

/**
 * Takes items from a list or a stream, one by one and only when asked to, and without being at the mercy of a stream that
 * gives nothing.
 */
export function takeFrom<Item>(source: Iterable<Item> | AsyncIterable<Item>): TakenFrom<Item> {
  const isStream = Symbol.asyncIterator in source;
  const iterator = isStream ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let asked: Promise<void> | undefined;
  let answer: { readonly step: IteratorResult<Item> } | { readonly thrown: unknown } | undefined;
  let ended = false;
  let wake: (() => void) | undefined;

  const ask = (step: Promise<IteratorResult<Item>>): void => {
    asked = step.then(
      (given) => {
        answer = { step: given };
      },
      (thrown: unknown) => {
        answer = { thrown };
      },
    );
  };
  const taken = (step: IteratorResult<Item>): { readonly item: Item } | undefined => {
    ended = step.done === true;
    return step.done ? undefined : { item: step.value };
  };

  return {
    async next(patience) {
      if (!asked) {
        let step: IteratorResult<Item> | Promise<IteratorResult<Item>>;
        try {
          step = iterator.next();
        } catch (error) {
          ended = true;
          throw error;
        }
        // A list is not waited for, and needs no timer.
        if (!isStream) return taken(step as IteratorResult<Item>);
        ask(Promise.resolve(step));
      }
      if (!answer) {
        await settled(asked as Promise<void>, patience, (end) => {
          wake = end;
        });
        wake = undefined;
      }
      const given = answer;
      if (!given) return 'late';
      asked = undefined;
      answer = undefined;
      if ('step' in given) return taken(given.step);
      ended = true;
      throw given.thrown;
    },
    wake: () => wake?.(),
    async close() {
      if (ended) return;
      ended = true;
      const closing = (async () => void (await iterator.return?.()))().catch(() => undefined);
      if (!asked || answer) await closing;
    },
  };
}

/**
 * Waits for work, for a time to be over, or to be woken. Not by a race with a promise that lives as long as the whole: that
 * would keep every wait in memory.
 */
function settled(work: Promise<void>, ms: number, wakeable: (end: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = Number.isFinite(ms) ? setTimeout(resolve, Math.max(0, ms)) : undefined;
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    wakeable(end);
    void work.then(end);
  });
}
