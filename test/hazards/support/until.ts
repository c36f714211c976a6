import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again every 50 ms until the answer is not undefined or false; what it waits for is named in the failure. */
export async function until<Answer>(
  what: string,
  ask: () => Promise<Answer | undefined | false> | Answer | undefined | false,
  withinMs = 60_000,
): Promise<Answer> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${withinMs} ms in vain: ${what}`);
    await sleep(50);
  }
}
