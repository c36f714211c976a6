import type { TracedClaim } from '../../ledger/trace/read-claims.js';
import type { Suspect, TracedEffect, TracedEvent, TracedPublication } from './trace.js';

/** What a judgement stands on. */
export interface SuspectFacts {
  readonly events: readonly TracedEvent[];
  /** Completions without an event. */
  readonly claims: readonly TracedClaim[];
  readonly publications: readonly TracedPublication[];
  /** Whether Temporal told of the events' runs. */
  readonly looked: boolean;
  readonly now: Date;
}

/** Codes of attempts after which a call may have taken hold. */
const doubtful: ReadonlySet<string | undefined> = new Set(['outcome_unknown', 'attempt_timed_out', 'effect_parked']);

/** A relay starts what is published at once. */
const relayLateMs = 60_000;

/**
 * Names the layers to suspect. Each sentence is true of what was gathered, and none is a guess: whether two events mean the
 * same thing, for one, only their sender knows.
 */
export function judge({ events, claims, publications, looked, now }: SuspectFacts): readonly Suspect[] {
  const found = [
    ...events.flatMap((event) => [
      ...judgeDeliveries(event),
      ...judgeRuns(event, looked),
      ...judgeActs(event),
      ...event.effects.flatMap((effect) => judgeEffect(event, effect, looked)),
    ]),
    ...claims.flatMap(judgeAdopted),
    ...publications.flatMap((publication) => judgePublication(publication, now)),
  ];
  return [...new Map(found.map((one) => [`${one.code} ${one.text}`, one])).values()];
}

function judgeDeliveries({ event, deliveries }: TracedEvent): Suspect[] {
  const differing = deliveries.filter(({ bodyDiffers }) => bodyDiffers).length;
  const unsigned = deliveries.filter(({ signed }) => !signed).length;
  return [
    ...(differing > 0
      ? [
          {
            code: 'body_differs',
            text: `${event}: ${counted(differing, 'delivery', 'deliveries')} had another body under the same event id; the first one counts. Suspect the sender.`,
          },
        ]
      : []),
    ...(unsigned > 0
      ? [
          {
            code: 'unsigned',
            text: `${event}: ${counted(unsigned, 'delivery', 'deliveries')} came from a person, not from the provider.`,
          },
        ]
      : []),
  ];
}

function judgeRuns(event: TracedEvent, looked: boolean): Suspect[] {
  const { event: name, ledger, temporal, runs } = event;
  const steps = runs.flatMap((run) => run.steps);
  const say = (code: string, text: string): Suspect => ({ code, text: `${name}: ${text}` });
  const suspects: Suspect[] = [];
  const open = ledger === 'open' || ledger === 'unknown';
  const lost = steps.filter(({ code }) => code === 'worker_lost' || code === 'attempt_timed_out').length;
  if (lost > 0)
    suspects.push(
      say('worker_lost', `a worker died or froze ${lost === 1 ? 'once' : `${lost} times`} while it held the event.`),
    );
  if (looked && temporal === 'running' && !runs.some(({ planned }) => planned)) {
    const plan = steps.findLast(({ what }) => what === 'plan');
    suspects.push(
      plan
        ? say('planning_waits', `it is accepted and not planned: ${plan.text}.`)
        : say(
            'no_worker',
            'it is accepted, and no worker has planned it yet. Suspect the workers and their task queue.',
          ),
    );
  }
  if (looked && temporal === 'forgotten' && ledger !== 'ignored') {
    suspects.push(
      open
        ? say(
            'run_lost',
            'nothing carries it: the ledger has it open and Temporal does not know it. It does not go on by itself.',
          )
        : say(
            'forgotten',
            'Temporal has forgotten its runs, as after its retention; attempts and pauses are gone with them.',
          ),
    );
  }
  if (looked && ledger === 'open' && temporal !== 'running' && temporal !== 'forgotten' && temporal !== 'not_asked') {
    const ends: Record<string, string> = {
      completed: 'something other than its workflow completed it',
      continued_as_new: 'its next run is not known yet',
    };
    suspects.push(
      say(
        'states_differ',
        `its run is ${temporal} and the ledger has it open: ${ends[temporal] ?? 'its dead letter is not written yet, which the sweep does'}.`,
      ),
    );
  }
  const letter = event.deadLetters.find(({ closedAt }) => closedAt === null);
  if (letter && !letter.parked) {
    suspects.push(
      say('dead_lettered', `it lies in the dead letters since ${letter.openedAt.toISOString()}: ${letter.code}.`),
    );
  }
  if (event.abandoned) suspects.push(say('abandoned', `${event.abandoned.by} gave it up: ${event.abandoned.reason}.`));
  for (const { kind, name: paused, by } of event.pauses) {
    suspects.push(say('paused', `${kind} ${paused} is paused by ${by}; its attempts wait.`));
  }
  if (ledger === 'ignored') suspects.push(say('ignored', 'no effect subscribed to its type when it came.'));
  return suspects;
}

function judgeActs({ event, acts, effects }: TracedEvent): Suspect[] {
  return acts.flatMap(({ kind, by, outcome, seen, at }): Suspect[] => {
    if (kind === 'replay' && (outcome === 'started' || outcome === 'asked')) {
      return rekeyedIn(seen).map(({ effect, from, to }) => ({
        code: 'rekeyed',
        text: `${event}: ${by} replayed it with another business key for ${effect}, ${to} instead of ${from}: what was begun under the first does not keep the second from running.`,
      }));
    }
    if (kind !== 'resolve') return [];
    if (outcome !== 'absent') {
      return [
        {
          code: 'said_done',
          text: `${event}: it counts as done because ${by} said so; whether it is, only the recipient knows.`,
        },
      ];
    }
    const again = effects.some(({ claim }) => claim && claim.claimedAt > at);
    return again
      ? [
          {
            code: 'said_absent',
            text: `${event}: ${by} said that nothing had happened, and it was performed again. If that was wrong, it happened twice.`,
          },
        ]
      : [];
  });
}

function rekeyedIn(seen: string): { effect: string; from: string; to: string }[] {
  try {
    const { steps = [] } = JSON.parse(seen) as {
      steps?: { effect: string; businessKey?: string; rekeyedFrom?: string }[];
    };
    return steps.flatMap(({ effect, businessKey = '', rekeyedFrom }) =>
      rekeyedFrom === undefined ? [] : [{ effect, from: rekeyedFrom, to: businessKey }],
    );
  } catch {
    return [];
  }
}

function judgeAdopted({ effect, businessKey, adoptedBy }: TracedClaim): Suspect[] {
  if (adoptedBy === null) return [];
  const text = `${effect} ${businessKey}: it was done before Onefold and adopted (act ${adoptedBy}); nothing was called here.`;
  return [{ code: 'adopted', text }];
}

function judgeEffect(event: TracedEvent, effect: TracedEffect, looked: boolean): Suspect[] {
  const { claim } = effect;
  if (!claim) return [];
  const name = `${effect.effect} ${effect.businessKey}`;
  const say = (code: string, text: string): Suspect => ({ code, text: `${name}: ${text}` });
  if (claim.adoptedBy !== null) return judgeAdopted(claim);
  const suspects: Suspect[] = [];
  const steps = event.runs.flatMap((run) => run.steps).filter((step) => step.effect === effect.effect);
  const late = event.superseded.filter((one) => one.businessKey === effect.businessKey && one.ended !== 'not_done');
  const doubts = steps.filter(({ code }) => doubtful.has(code)).length;
  const external = claim.idempotencyKey !== null;
  if (steps.some(({ otherData }) => otherData)) {
    suspects.push(
      say(
        'other_data',
        `this event had other data than ${claim.event}, which did it. Suspect the business key: it may be too coarse.`,
      ),
    );
  }
  if (claim.state === 'parked')
    suspects.push(say('parked', 'it waits for a person: only the recipient can tell whether it happened.'));
  else if (claim.state !== 'done' && claim.inDoubt)
    suspects.push(say('in_doubt', 'an attempt may have taken hold, and the next one finds out.'));
  if (claim.generation > 1) {
    suspects.push(
      say(
        'several_keys',
        `its recipient got up to ${claim.generation} idempotency keys, each after the one before was proven not done. Suspect that proof.`,
      ),
    );
  }
  if (late.length > 0 && external) {
    suspects.push(
      say(
        'superseded',
        `${counted(late.length, 'attempt', 'attempts')} came back after the lease was taken, and may have called beside another one. Suspect its timeout.`,
      ),
    );
  }
  if (doubts > 0 && external && claim.state === 'done') {
    suspects.push(
      say(
        'unknown_recovered',
        `${counted(doubts, 'attempt', 'attempts')} ended without telling whether the call took hold, and it was recovered as declared.`,
      ),
    );
  }
  const clean = claim.generation === 1 && late.length === 0 && doubts === 0;
  const spoken = event.acts.some(({ kind }) => kind === 'resolve');
  if (!effect.done || spoken || (external && !clean)) return suspects;
  // The attempts of another event's completion are in that one's histories.
  const own =
    claim.eventKey === event.eventKey && looked && event.runs.length > 0 && event.runs.every(({ cut }) => !cut);
  if (!external) {
    suspects.push(
      say(
        'once',
        'one completion, written in the same transaction as its effect. Look at the sender or the recipient.',
      ),
    );
  } else if (own && steps.filter(({ what }) => what === 'attempt').length === 1) {
    suspects.push(say('once', 'one completion, one call. Look at the sender or the recipient.'));
  } else {
    suspects.push(
      say('one_key', 'one completion under one idempotency key; of every attempt, only the histories tell.'),
    );
  }
  return suspects;
}

function judgePublication(
  { publication, webhookId, publishedAt, deliveries }: TracedPublication,
  now: Date,
): Suspect[] {
  return deliveries.flatMap((delivery): Suspect[] => {
    const { endpoint, endpointState, state, possibleArrivals } = delivery;
    const say = (code: string, text: string): Suspect => ({ code, text: `${publication} → ${endpoint}: ${text}` });
    const waits = state === 'queued' || state === 'started';
    return [
      ...(possibleArrivals > 1
        ? [
            say(
              'arrived_more_than_once',
              `${possibleArrivals} attempts may have arrived, all with webhook-id ${webhookId}. Suspect a receiver that does not look at it.`,
            ),
          ]
        : []),
      ...(waits && endpointState !== 'enabled' ? [say('endpoint_held', `its endpoint is ${endpointState}.`)] : []),
      ...(state === 'queued' && endpointState === 'enabled' && now.getTime() - publishedAt.getTime() > relayLateMs
        ? [say('no_relay', 'no relay has started it. Suspect the relays, or an endpoint that is behind.')]
        : []),
      ...(state === 'dead_lettered'
        ? [say('dead_lettered', `it was given up: ${delivery.lastCode ?? 'see its dead letter'}.`)]
        : []),
    ];
  });
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
