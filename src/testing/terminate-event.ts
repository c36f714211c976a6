import { AssertionError } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AskedEvent, statusOf } from './event-outcome.js';

const pollMs = 10;

/**
 * Ends the workflow of an event from outside, once no attempt of it is under way: the test server takes one whose workflow was
 * terminated for still running, and skips no time any more.
 *
 * @throws {AssertionError} Where an attempt goes on for longer than `withinMs`.
 */
export async function terminateEvent({ client, eventKey, event }: AskedEvent, withinMs: number): Promise<void> {
  const handle = client.workflow.getHandle(eventKey);
  for (const until = Date.now() + withinMs; ; await sleep(pollMs)) {
    const { phase, effects } = await statusOf(handle);
    if (phase !== 'planning' && effects.every((effect) => effect.phase !== 'attempting')) break;
    if (Date.now() < until) continue;
    throw new AssertionError({ message: `${event} cannot be terminated while an attempt of it is under way` });
  }
  await handle.terminate('the test asks for it');
}
