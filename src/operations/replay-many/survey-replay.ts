import { listSelected } from '../../ledger/replay-sets/list-selected.js';
import { type SurveyedEffect, surveyEffects } from '../../ledger/replay-sets/survey-effects.js';
import { type SurveyedEvents, surveyEvents } from '../../ledger/replay-sets/survey-events.js';
import type { OperationsContext } from '../context.js';
import type { ReadReplayFilter } from './replay-filter.js';

/** Events of one set; a larger one takes hours at any rate that recipients bear, and nobody has looked at it. */
export const mostEvents = 100_000;

/** Names of events that are shown of a set. */
const namesShown = 10;

/** What a replay of many would be about now. */
export interface ReplaySurvey {
  readonly tenant: string;
  /** JSON, with the state that was not named. */
  readonly filter: string;
  /** Only this effect would be run. */
  readonly effect?: string;
  readonly size: number;
  /** By source, type and reason, most first. */
  readonly events: readonly SurveyedEvents[];
  /** When the first and the last of them were received; absent where there are none. */
  readonly oldest?: Date;
  readonly newest?: Date;
  /** What is done, in doubt and left of each effect that was planned. */
  readonly effects: readonly SurveyedEffect[];
  /** `source/event-id` of the first, those received first. */
  readonly first: readonly string[];
}

/** Looks at what a filter takes in. Changes nothing. */
export async function surveyReplay(
  { ledger }: Pick<OperationsContext, 'ledger'>,
  { selection, effect, filter }: ReadReplayFilter,
): Promise<ReplaySurvey> {
  const { schema, database } = ledger;
  const { query } = database;
  const [events, effects, first] = await Promise.all([
    surveyEvents(query, schema, selection),
    surveyEffects(query, schema, selection),
    listSelected(query, schema, selection, namesShown),
  ]);
  const times = (of: 'oldest' | 'newest'): number[] => events.map((one) => one[of].getTime());
  return {
    tenant: selection.tenant,
    filter,
    ...(effect === undefined ? {} : { effect }),
    size: events.reduce((sum, one) => sum + one.events, 0),
    events,
    ...(events.length === 0
      ? {}
      : { oldest: new Date(Math.min(...times('oldest'))), newest: new Date(Math.max(...times('newest'))) }),
    effects,
    first: first.map(({ event }) => event),
  };
}
