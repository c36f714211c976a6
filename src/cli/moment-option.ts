import { InvalidArgumentError } from 'commander';
import { durationMs } from '../runtime/duration.js';
import { withUnit } from './with-unit.js';

/** With its offset or zone: a time without one is another one on the next machine. */
const momentForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** Reads a time (`2026-02-03T04:05:06Z`, a day in UTC) or how long ago it was (`2 hours`), as commander's parser. */
export function moment(text: string): Date {
  if (momentForm.test(text)) {
    const date = new Date(text);
    if (!Number.isNaN(date.getTime())) return date;
  }
  try {
    return new Date(Date.now() - durationMs(withUnit(text), 'time'));
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    throw new InvalidArgumentError("expected a time such as 2026-02-03T04:05:06Z, or a duration such as '2 hours'");
  }
}
