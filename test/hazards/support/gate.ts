/** A place in a test's effect where it waits until the test lets it go on. */
export interface Gate {
  /** Resolves when somebody has arrived. */
  readonly reached: Promise<void>;
  /** Waits for {@link open}; called by the effect. */
  pass(): Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let arrive: () => void = () => {};
  let open: () => void = () => {};
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    reached,
    open: () => open(),
    async pass() {
      arrive();
      await opened;
    },
  };
}
