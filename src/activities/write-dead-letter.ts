import { writeDeadLetter } from '../ledger/write-dead-letter.js';
import type { ActivityDependencies } from './dependencies.js';
import type { EventRef } from './event-ref.js';

/** The argument of the `recordDeadLetter` activity. */
export interface RecordDeadLetterArgument {
  readonly event: EventRef;
  readonly runId: string;
  readonly code: string;
  readonly message: string;
  /** JSON text, without the body. */
  readonly input: string;
  /** JSON text: effects with the reason of every attempt. */
  readonly effects: string;
  /** The event's JSON text where the plan has not stored it yet. */
  readonly text?: string;
}

/** Makes the activity that writes a dead letter; Temporal retries it until PostgreSQL takes it. */
export function createRecordDeadLetter(deps: ActivityDependencies) {
  return async function recordDeadLetter(argument: RecordDeadLetterArgument): Promise<{ readonly opened: boolean }> {
    const { event, text, ...letter } = argument;
    const { open, counted } = await writeDeadLetter(deps.ledger.database.query, deps.ledger.schema, {
      ...event,
      ...letter,
      body: text === undefined ? undefined : Buffer.from(text),
    });
    if (counted) deps.metrics.deadLetters.inc({ code: letter.code });
    return { opened: open };
  };
}
