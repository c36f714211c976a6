import { listSelected, type SelectedEvent } from '../../ledger/replay-sets/list-selected.js';
import { refuseUnknownOptions } from '../../runtime/options.js';
import type { OperationsContext } from '../context.js';
import { operationFailure } from '../operation-failure.js';
import { replayEvent } from '../replay-event.js';
import type { ReplayStep } from '../replay-steps.js';
import { tooLarge } from './begin-set.js';
import { type ReplayFilter, readReplayFilter } from './replay-filter.js';
import { refusalOf } from './replay-item.js';
import { mostEvents, type ReplaySurvey, surveyReplay } from './survey-replay.js';

/** What is to be looked at. */
export interface PreviewReplayOptions {
  /** Run only this effect; as in `replayMany`. */
  readonly effect?: string;
  /** Look into so many of the events, those received first. Default 0: only count. */
  readonly decisions?: number;
}

/** What a replay would do about one event. */
export interface ReplayDecision {
  /** `source/event-id` */
  readonly event: string;
  /** Absent where it would be refused. */
  readonly steps?: readonly ReplayStep[];
  /** Why it would be refused. */
  readonly refused?: string;
}

/** What a replay of many would be about, and would do. */
export interface ReplayPreview extends ReplaySurvey {
  readonly outcome: 'dry_run';
  readonly decisions: readonly ReplayDecision[];
}

/** Looked at side by side; each holds a connection to PostgreSQL meanwhile. */
const looksAtOnce = 8;

/**
 * Says what a replay of many would be about, and what it would do about each event. Changes nothing.
 *
 * @throws {OnefoldError} As `replayMany`; `temporal_unavailable` where events are looked into.
 */
export async function previewReplay(
  context: OperationsContext,
  filter: ReplayFilter,
  options: PreviewReplayOptions = {},
): Promise<ReplayPreview> {
  refuseUnknownOptions(options, ['effect', 'decisions'], 'look at a replay');
  try {
    const read = readReplayFilter(context.catalogue, filter, options.effect);
    const survey = await surveyReplay(context, read);
    if (survey.size > mostEvents) throw tooLarge();
    const { database, schema } = context.ledger;
    const looked = Math.min(options.decisions ?? 0, mostEvents);
    const events = looked > 0 ? await listSelected(database.query, schema, read.selection, looked) : [];
    const decisions: ReplayDecision[] = [];
    for (let at = 0; at < events.length; at += looksAtOnce) {
      const few = events
        .slice(at, at + looksAtOnce)
        .map((event) => decide(context, read.selection.tenant, event, read));
      decisions.push(...(await Promise.all(few)));
    }
    return { ...survey, outcome: 'dry_run', decisions };
  } catch (error) {
    throw operationFailure(error);
  }
}

async function decide(
  context: OperationsContext,
  tenant: string,
  { eventKey, event }: SelectedEvent,
  { effect }: { readonly effect?: string },
): Promise<ReplayDecision> {
  try {
    const { steps } = await replayEvent(context, eventKey, {
      tenant,
      by: 'a dry run',
      reason: 'a dry run',
      dryRun: true,
      ...(effect === undefined ? {} : { effect }),
    });
    return { event, steps };
  } catch (error) {
    const refused = refusalOf(error);
    if (refused === undefined) throw error;
    return { event, refused };
  }
}
