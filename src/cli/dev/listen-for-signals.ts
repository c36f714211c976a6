/** The wishes of whoever sits at the terminal. */
export interface StopSignals {
  /** Resolves with the first signal: an orderly end. */
  readonly first: Promise<NodeJS.Signals>;
  /** Resolves with the second: an end at once. */
  readonly second: Promise<NodeJS.Signals>;
  /** Whether the first has come. */
  received(): boolean;
  /** Stops listening. */
  close(): void;
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** One Ctrl-C under `npm start` comes twice: from the terminal and, passed on, from npm. Nobody presses this fast. */
const sameKeyMs = 500;

/** Takes over the signals that would end this process, and tells a first wish from an impatient second one. */
export function listenForSignals(): StopSignals {
  let firstAt: number | undefined;
  let resolveFirst: (signal: NodeJS.Signals) => void = () => {};
  let resolveSecond: (signal: NodeJS.Signals) => void = () => {};
  const first = new Promise<NodeJS.Signals>((resolve) => {
    resolveFirst = resolve;
  });
  const second = new Promise<NodeJS.Signals>((resolve) => {
    resolveSecond = resolve;
  });
  const take = (signal: NodeJS.Signals): void => {
    const now = Date.now();
    if (firstAt === undefined) {
      firstAt = now;
      resolveFirst(signal);
    } else if (now - firstAt > sameKeyMs) {
      resolveSecond(signal);
    }
  };
  for (const signal of signals) process.on(signal, take);
  return {
    first,
    second,
    received: () => firstAt !== undefined,
    close: () => {
      for (const signal of signals) process.off(signal, take);
    },
  };
}
