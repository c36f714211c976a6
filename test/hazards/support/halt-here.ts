/** What a parent hears right before its process is halted. */
export const haltedWord = 'halted';

/** Freezes or kills this process, after its parent has been told. A frozen one goes on from here when it is woken. */
export async function haltHere(by: 'SIGSTOP' | 'SIGKILL'): Promise<void> {
  await new Promise<void>((resolve) => void process.send?.(haltedWord, () => resolve()));
  process.kill(process.pid, by);
}
