import { userInfo } from 'node:os';
import type { ReplayDeliveryOutcome } from '../operations/deliveries/replay-delivery.js';
import type { RefusedReplay } from '../operations/deliveries/replay-or-refuse.js';
import type { ReplayPublicationOutcome } from '../operations/deliveries/replay-publication.js';
import { type ActingContext, withActingContext } from './acting-context.js';
import { attemptsInWords } from './attempts-in-words.js';
import { lookFirst } from './look-first.js';

/** Options of `onefold replay --publication`. */
export interface ReplayDeliveryFlags {
  readonly config?: string;
  readonly publication: string;
  readonly endpoint?: string;
  readonly all?: boolean;
  readonly tenant?: string;
  readonly reason: string;
  readonly by?: string;
  readonly act?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Sends deliveries of a publication again: the one to an endpoint, or all that were dead-lettered. */
export async function replayDeliveries(flags: ReplayDeliveryFlags): Promise<void> {
  await withActingContext('replay', flags.config, async (context) => {
    const goOn = await lookFirst(flags, {
      look: () => replay(context, flags, true),
      describe,
      question: 'Send again?',
      code: 'replay_refused',
    });
    if (!goOn) return;
    const outcome = await replay(context, flags, false);
    process.stdout.write(flags.json ? `${JSON.stringify(outcome)}\n` : answer(outcome));
    const left = 'deliveries' in outcome && outcome.outcome === 'interrupted';
    if (left || deliveriesOf(outcome).some((one) => one.outcome !== 'started')) process.exitCode = 1;
  });
}

type Outcome = ReplayDeliveryOutcome | ReplayPublicationOutcome;

async function replay(
  context: ActingContext,
  { publication, endpoint, tenant, reason, by, act, all }: ReplayDeliveryFlags,
  dryRun: boolean,
): Promise<Outcome> {
  const { replayDelivery } = await import('../operations/deliveries/replay-delivery.js');
  const { replayPublication } = await import('../operations/deliveries/replay-publication.js');
  const name = { publication, ...(tenant === undefined ? {} : { tenant }) };
  const options = { reason, by: by ?? userInfo().username, ...(act === undefined ? {} : { id: act }), dryRun };
  return endpoint === undefined
    ? replayPublication(context, name, { ...options, ...(all ? { all } : {}) })
    : replayDelivery(context, { ...name, endpoint }, options);
}

function deliveriesOf(outcome: Outcome): readonly (ReplayDeliveryOutcome | RefusedReplay)[] {
  return 'deliveries' in outcome ? outcome.deliveries : [outcome];
}

function describe(outcome: Outcome): string {
  const lines = deliveriesOf(outcome).map((one) => {
    const name = `${one.publication} to ${one.endpoint}`;
    if (one.outcome === 'refused') return `${name}: cannot be sent now: ${one.because}\n`;
    const { state, attempts, eventId } = one;
    const held = state.endpoint === 'enabled' ? '' : `; the endpoint is ${state.endpoint}, which holds it`;
    return `${name}: ${state.ledger} after ${attemptsInWords(attempts)}, sent again as ${eventId}${held}\n`;
  });
  return lines.length === 0 ? `${outcome.publication}: nothing of it is dead-lettered now\n` : lines.join('');
}

function answer(outcome: Outcome): string {
  // What the same command takes back: of a whole publication one act, whose deliveries have acts of their own.
  const act = `(act ${outcome.id})`;
  const lines = deliveriesOf(outcome).map((one) => {
    const name = `${one.publication} to ${one.endpoint}`;
    if (one.outcome === 'refused') return `${name}: refused: ${one.because}\n`;
    if (one.outcome === 'started') {
      const held = one.state.endpoint === 'enabled' ? '' : `, and held: the endpoint is ${one.state.endpoint}`;
      return `${name}: sent again as run ${one.runId ?? '(forgotten)'}${held} ${act}\n`;
    }
    if (one.outcome === 'superseded') {
      return `${name}: not sent, since act ${one.supersededBy ?? '(unknown)'} came later and was carried out ${act}\n`;
    }
    return `${name}: another run was started meanwhile, and sends it ${act}\n`;
  });
  if ('deliveries' in outcome && outcome.because) {
    const { code, message } = outcome.because;
    lines.push(
      `It was interrupted (${code}: ${message}); the same command with --act ${outcome.id} goes on from here.\n`,
    );
  }
  return lines.length === 0
    ? `${outcome.publication}: nothing to do, nothing of it is dead-lettered now ${act}\n`
    : lines.join('');
}
