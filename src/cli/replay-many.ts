import { userInfo } from 'node:os';
import { OnefoldError } from '../errors.js';
import { withLog } from '../operations/context.js';
import type { ReplayFilter } from '../operations/replay-many/replay-filter.js';
import type {
  ContinueReplayOptions,
  NothingToReplay,
  ReplayManyOutcome,
} from '../operations/replay-many/replay-many.js';
import type { SetSummary } from '../operations/replay-many/set-summary.js';
import { type ActingContext, withActingContext } from './acting-context.js';
import { type LookFirst, lookFirst } from './look-first.js';
import { describePreview, describeSet, progressInWords, summaryOf } from './print-replay-many.js';
import { progressOn } from './progress-line.js';

/** Options of `onefold replay` without an event. */
export interface ReplayManyFlags extends ReplayFilter {
  readonly config?: string;
  readonly effect?: string;
  readonly rate?: number;
  readonly cancel?: boolean;
  readonly reason?: string;
  readonly by?: string;
  readonly act?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Decisions that are printed for people; `--json` has all. */
const decisionsShown = 50;

/** Replays the events that filters take in, or carries a set on that was frozen under `--act`. */
export async function replayManyOf(flags: ReplayManyFlags): Promise<void> {
  await withActingContext('replay', flags.config, async (opened) => {
    // On a terminal, a line for each event would tear the progress line; each has its act in the ledger.
    const context = process.stderr.isTTY ? withLog(opened, opened.log.child({}, { level: 'warn' })) : opened;
    const set = flags.act === undefined ? undefined : await frozenBefore(context, flags, flags.act);
    if (flags.cancel) await cancel(context, flags);
    else if (set) await goOn(context, flags, set);
    else await begin(context, flags);
  });
}

/** The filters among the flags. */
export function filterOf(flags: ReplayManyFlags): ReplayFilter {
  const { tenant, source, type, state, businessKey, code, since, until } = flags;
  const given = Object.entries({ tenant, source, type, state, businessKey, code, since, until });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

async function frozenBefore(
  context: ActingContext,
  flags: ReplayManyFlags,
  id: string,
): Promise<SetSummary | undefined> {
  const { showReplaySet } = await import('../operations/replay-many/replay-many.js');
  try {
    return await showReplaySet(context, { ...tenantOf(flags), id });
  } catch (error) {
    const { tenant: _tenant, ...restricting } = filterOf(flags);
    const isNew = Object.keys(restricting).length > 0 && !flags.cancel;
    if (isNew && error instanceof OnefoldError && error.code === 'replay_set_unknown') return undefined;
    throw error;
  }
}

function tenantOf({ tenant }: ReplayManyFlags): { readonly tenant?: string } {
  return tenant === undefined ? {} : { tenant };
}

async function begin(context: ActingContext, flags: ReplayManyFlags): Promise<void> {
  const { previewReplay } = await import('../operations/replay-many/preview-replay.js');
  const { replayMany } = await import('../operations/replay-many/replay-many.js');
  const filter = filterOf(flags);
  const effect = flags.effect === undefined ? {} : { effect: flags.effect };
  let shown: number | undefined;
  const looking: LookFirst<Awaited<ReturnType<typeof previewReplay>>> = {
    async look() {
      const decisions = !flags.dryRun ? 0 : flags.json ? Number.MAX_SAFE_INTEGER : decisionsShown;
      const preview = await previewReplay(context, filter, { ...effect, decisions });
      shown = preview.size;
      return preview;
    },
    describe: describePreview,
    question: 'Replay them?',
    code: 'confirmation_missing',
  };
  if (!(await lookFirst(flags, looking))) return;
  await carry(flags, shown, (options) =>
    replayMany(context, filter, {
      ...options,
      ...effect,
      by: flags.by ?? userInfo().username,
      reason: flags.reason ?? '',
      ...(flags.act === undefined ? {} : { id: flags.act }),
    }),
  );
}

async function goOn(context: ActingContext, flags: ReplayManyFlags, set: SetSummary): Promise<void> {
  const { continueReplay } = await import('../operations/replay-many/replay-many.js');
  if (set.state === 'open') {
    const looking: LookFirst<SetSummary> = {
      look: async () => set,
      describe: describeSet,
      question: 'Go on with it?',
      code: 'confirmation_missing',
    };
    if (!(await lookFirst(flags, looking))) return;
  }
  await carry(flags, undefined, (options) => continueReplay(context, set, options));
}

/** Carries a set on and says what came of it, while Ctrl-C ends it between two steps. */
async function carry(
  flags: ReplayManyFlags,
  shown: number | undefined,
  run: (options: ContinueReplayOptions) => Promise<ReplayManyOutcome | NothingToReplay>,
): Promise<void> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  const line = progressOn(process.stderr);
  let isFrozen = false;
  try {
    const outcome = await run({
      ...(flags.rate === undefined ? {} : { rate: flags.rate }),
      signal: stopping.signal,
      onProgress: (progress) => {
        if (!isFrozen && shown !== undefined && shown !== progress.size) {
          process.stderr.write(`the set was frozen with ${progress.size} events; ${shown} were shown before\n`);
        }
        isFrozen = true;
        line.show(progressInWords(progress));
      },
    });
    line.close();
    process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : summaryOf(outcome));
    if (outcome.outcome === 'stopped') process.exitCode = 130;
    else if (outcome.outcome === 'interrupted' || refusedOf(outcome) > 0) process.exitCode = 1;
  } finally {
    line.close();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  }
}

function refusedOf(outcome: ReplayManyOutcome | NothingToReplay): number {
  return 'counts' in outcome ? outcome.counts.refused : 0;
}

async function cancel(context: ActingContext, flags: ReplayManyFlags): Promise<void> {
  const { cancelReplay } = await import('../operations/replay-many/cancel-replay.js');
  const { showReplaySet } = await import('../operations/replay-many/replay-many.js');
  const name = { ...tenantOf(flags), id: flags.act ?? '' };
  const looking: LookFirst<SetSummary> = {
    look: () => showReplaySet(context, name),
    describe: describeSet,
    question: 'Cancel the rest of it?',
    code: 'confirmation_missing',
  };
  if (!(await lookFirst(flags, looking))) return;
  const wish = { by: flags.by ?? userInfo().username, reason: flags.reason ?? '' };
  const outcome = await cancelReplay(context, name, wish);
  process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : summaryOf({ ...outcome, outcome: outcome.state }));
}
