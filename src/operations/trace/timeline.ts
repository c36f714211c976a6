import type { TracedAct } from '../../ledger/trace/read-acts.js';
import type { TracedLetter } from '../../ledger/trace/read-letters.js';
import { numberOf, startOf } from './attribute-work.js';
import { inUnits } from './in-units.js';
import type { TracedEvent, TracedPublication, TraceEntry } from './trace.js';

/** Tells everything in the order in which it happened, whoever wrote it down. */
export function tellTimeline(
  events: readonly TracedEvent[],
  publications: readonly TracedPublication[],
): readonly TraceEntry[] {
  const entries = [...events.flatMap(tellEvent), ...publications.flatMap(tellPublication)];
  // What is told twice, such as one act about a claim that several events share, is told once.
  const told = new Map(
    entries.map((entry) => [`${entry.at.getTime()} ${entry.what} ${entry.act ?? entry.of} ${entry.text}`, entry]),
  );
  return [...told.values()].sort((one, other) => one.at.getTime() - other.at.getTime());
}

function tellEvent(event: TracedEvent): TraceEntry[] {
  const ledger = { from: 'ledger', of: event.event } as const;
  const temporal = { from: 'temporal', of: event.event } as const;
  return [
    ...event.deliveries.map((delivery, index): TraceEntry => {
      const { path, status, code, bodyDiffers, signed, act, receivedAt } = delivery;
      const how = [
        path ?? 'refused',
        `answered ${status}`,
        ...(code === null ? [] : [code]),
        ...(bodyDiffers ? ['its body differs'] : []),
        ...(signed ? [] : ['unsigned, handed in by a person']),
      ];
      const text = `delivery ${numberOf(event.deliveries, index)}: ${how.join(', ')}`;
      return { ...ledger, at: receivedAt, what: 'delivery', text, ...(code === null ? {} : { code }), ...withAct(act) };
    }),
    ...(event.recordedAt && event.runs.length === 0
      ? [{ ...ledger, at: event.recordedAt, what: 'plan', text: `planned: ${effectsInWords(event)}` }]
      : []),
    ...event.runs.flatMap((run) =>
      run.steps.map(({ at, what, text, effect, code }): TraceEntry => {
        return {
          ...temporal,
          at,
          what,
          text: what === 'run_started' ? startInWords(event, run) : text,
          runId: run.runId,
          ...(effect === undefined ? {} : { effect }),
          ...(code === undefined ? {} : { code }),
        };
      }),
    ),
    ...event.effects.flatMap((effect): TraceEntry[] => {
      const { claim, outcome, endedAt } = effect;
      const name = `${effect.effect} ${effect.businessKey}`;
      const entries: TraceEntry[] = [];
      const add = (at: Date, what: string, text: string): void => {
        entries.push({ ...ledger, at, what, text, effect: effect.effect });
      };
      if (claim?.adoptedBy)
        add(claim.doneAt ?? claim.claimedAt, 'adopted', `${name}: adopted as done (act ${claim.adoptedBy})`);
      else if (claim?.doneAt) {
        const by = claim.eventKey === event.eventKey ? '' : ` by ${claim.event}`;
        add(claim.doneAt, 'completed', `${name}: completed${by} (fence ${claim.fence})`);
      } else if (claim) {
        const lease = claim.leaseRunning ? `, lease until ${claim.leaseUntil?.toISOString()}` : '';
        const doubt = claim.inDoubt ? ', an earlier attempt is in doubt' : '';
        add(
          claim.claimedAt,
          'claimed',
          `${name}: ${claim.state} by ${claim.event} (fence ${claim.fence}${lease}${doubt})`,
        );
      }
      if (outcome !== undefined && endedAt && outcome !== 'done') {
        add(endedAt, 'effect_ended', `${name}: ${outcome} for this event`);
      }
      return entries;
    }),
    ...event.superseded.map(({ effect, businessKey, attempt, ended, at }): TraceEntry => {
      const text = `${effect} ${businessKey}: attempt ${attempt} came back after its lease was taken (${ended}); it wrote nothing`;
      return { ...ledger, at, what: 'superseded', text, effect, code: 'effect_superseded' };
    }),
    ...event.deadLetters.flatMap((letter) => tellLetter(letter, event.event)),
    ...event.acts.map((act) => tellAct(act, event.event)),
    ...event.pauses.map(({ kind, name, by, reason, at }): TraceEntry => {
      return { ...ledger, at, what: 'paused', text: `${kind} ${name} paused by ${by}: ${reason}` };
    }),
    ...(event.endedAt
      ? [{ ...ledger, at: event.endedAt, what: 'event_ended', text: `the ledger has it as ${event.ledger}` }]
      : []),
  ];
}

function effectsInWords({ effects }: TracedEvent): string {
  return effects.map(({ effect, businessKey }) => `${effect} ${businessKey}`).join(', ') || 'no effect';
}

function startInWords(event: TracedEvent, run: TracedEvent['runs'][number]): string {
  if (run.continuedFrom !== undefined) return `run continued from ${run.continuedFrom}`;
  if (run.replay) return `run started by the replay of ${run.replay.by}: ${run.replay.reason} (act ${run.replay.id})`;
  const { delivery } = startOf(event, run);
  return delivery === undefined ? 'run started' : `run started by delivery ${delivery}`;
}

function tellLetter(letter: TracedLetter, of: string): TraceEntry[] {
  const { code, message, occurrences, parked, openedAt, lastAt, closedAt, closedBy, owner, note } = letter;
  const ledger = { from: 'ledger', of, code } as const;
  const kept = [...(owner === null ? [] : [`kept by ${owner}`]), ...(note === null ? [] : [`note: ${note}`])];
  const what = parked ? 'waits for a person' : 'dead letter opened';
  const text = [`${what}: ${code}: ${oneLine(message)}`, ...kept].join('; ');
  const again = lastAt.getTime() > openedAt.getTime() && occurrences > 1;
  return [
    { ...ledger, at: openedAt, what: 'dead_letter_opened', text },
    ...(again
      ? [{ ...ledger, at: lastAt, what: 'dead_letter_again', text: `dead letter: the ${occurrences}. time` }]
      : []),
    ...(closedAt
      ? [
          {
            ...ledger,
            at: closedAt,
            what: 'dead_letter_closed',
            text: `dead letter closed by ${closedBy ?? 'somebody'}`,
          },
        ]
      : []),
  ];
}

function tellAct({ id, kind, by, reason, at, outcome }: TracedAct, of: string): TraceEntry {
  const text = `${kind} by ${by}: ${oneLine(reason)} (${outcome}, act ${id})`;
  return { from: 'ledger', of, at, what: 'act', text, act: id };
}

function tellPublication(publication: TracedPublication): TraceEntry[] {
  const of = publication.publication;
  const ledger = { from: 'ledger', of } as const;
  const by = publication.cause?.effect ? ` by ${publication.cause.effect} of ${publication.cause.event}` : '';
  return [
    { ...ledger, at: publication.publishedAt, what: 'published', text: `published ${publication.type}${by}` },
    ...publication.deliveries.flatMap((delivery): TraceEntry[] => [
      ...delivery.sends.map(({ startedAt, attempt, ended, code, status, durationMs }): TraceEntry => {
        const how = [
          ended ?? 'under way, or its worker died',
          ...(status === null ? [] : [`HTTP ${status}`]),
          ...(code === null || code === `http_${status}` ? [] : [code]),
          ...(durationMs === null ? [] : [inUnits(durationMs)]),
        ];
        const text = `→ ${delivery.endpoint}: attempt ${attempt}: ${how.join(', ')}`;
        return { ...ledger, at: startedAt, what: 'send', text, ...(code === null ? {} : { code }) };
      }),
      ...delivery.deadLetters.flatMap((letter) => tellLetter(letter, `${of} → ${delivery.endpoint}`)),
      ...delivery.acts.map((act) => tellAct(act, of)),
      ...(delivery.endedAt
        ? [
            {
              ...ledger,
              at: delivery.endedAt,
              what: 'delivery_ended',
              text: `→ ${delivery.endpoint}: ${delivery.state}`,
            },
          ]
        : []),
    ]),
  ];
}

function withAct(act: string | null): { readonly act?: string } {
  return act === null ? {} : { act };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
