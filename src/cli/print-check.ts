import type { CheckReport } from '../operations/check/check-configuration.js';
import type { CheckedEffect } from '../operations/check/check-effect.js';
import type { CheckedLedger } from '../operations/check/check-ledger.js';
import type { CheckedType } from '../operations/check/check-publications.js';
import type { CheckedSource } from '../operations/check/check-source.js';
import { durationInWords } from '../operations/check/duration-in-words.js';

type CheckedPublishing = NonNullable<CheckedLedger['publishing']>;

/** Columns of a line; longer text goes on below, under its own beginning. */
const width = 110;

/** Columns of the labels. */
const labelWidth = 23;

/** Writes a report as text: the three identities and what holds them, the findings, and one line that sums them up. */
export function printCheck(report: CheckReport): string {
  const { namespace } = report;
  return [
    heading('Sources'),
    ...(report.sources.length === 0 ? ['', 'none'] : []),
    ...report.sources.flatMap((source) => describeSource(source, namespace?.retentionMs ?? undefined)),
    heading('Effects'),
    '“after a crash” answers: if this was recorded and then crashed, what finishes the work?',
    ...(report.effects.length === 0 ? ['', 'none'] : report.effects.flatMap(describeEffect)),
    heading('Publications'),
    ...describePublications(report),
    heading('Servers'),
    ...describeServers(report),
    ...(report.findings.length === 0 ? [] : [heading('Findings')]),
    ...report.findings.flatMap(({ id, level, place, message, remedy }) => [
      '',
      `${level} · ${id} · ${place}`,
      ...wrap('  ', message, 2),
      ...wrap('  → ', remedy, 4),
    ]),
    '',
    summary(report),
    '',
  ]
    .join('\n')
    .trimStart();
}

function heading(text: string): string {
  return `\n${text}\n${'─'.repeat(text.length)}`;
}

function describeSource(source: CheckedSource, retentionMs: number | undefined): string[] {
  const { name, provider, eventIdentity, facts, events, records } = source;
  const signed = eventIdentity.signed ? 'signed' : 'outside the signature';
  return [
    '',
    `${name} · ${provider}`,
    ...line('event identity', `${eventIdentity.from}, ${signed} → ${eventIdentity.workflowId}`),
    ...line('answers', answers(source)),
    ...line('redelivery', redelivery(facts, retentionMs)),
    ...listed(
      'events',
      events.map(({ type, effects }) => {
        const carried = records === 'all' ? 'recorded only' : 'ignored';
        return `${type} → ${effects.length > 0 ? effects.join(', ') : carried}`;
      }),
    ),
  ];
}

function answers({ acknowledge, settleWithinMs, facts }: CheckedSource): string {
  const provider =
    facts.timeoutMs === undefined
      ? 'how long the provider waits is not known'
      : `the provider waits for ${durationInWords(facts.timeoutMs)}`;
  return acknowledge === 'settled'
    ? `settled: with the outcome, or 202 after ${durationInWords(settleWithinMs ?? 0)}; ${provider}`
    : `durable: as soon as Temporal holds the event; ${provider}`;
}

function redelivery(facts: CheckedSource['facts'], retentionMs: number | undefined): string {
  const { redeliveryWindowMs, manualRedeliveryWindowMs } = facts;
  const retries =
    redeliveryWindowMs === undefined
      ? 'how long the provider retries is not known'
      : redeliveryWindowMs === 0
        ? 'the provider never retries by itself'
        : `the provider retries for ${durationInWords(redeliveryWindowMs)}`;
  const asked =
    manualRedeliveryWindowMs === undefined
      ? ''
      : `, and can be asked to for ${durationInWords(manualRedeliveryWindowMs)}`;
  const remembered =
    retentionMs === undefined
      ? '; the ledger recognises what is done for good'
      : `; Temporal remembers an event for ${durationInWords(retentionMs)}, the ledger for good`;
  return `${retries}${asked}${remembered}`;
}

function describeEffect(effect: CheckedEffect): string[] {
  const { name, kind, source, on, businessIdentity, budget, timeoutMs, leaseMs, supersedes } = effect;
  const { formerly } = businessIdentity;
  return [
    '',
    `${name} · ${kind === 'local' ? 'local write' : 'external call'} · on ${source}: ${on.join(', ')}`,
    ...line('business identity', `${businessIdentity.effect} + ${businessIdentity.key}`),
    ...(formerly.length > 0
      ? line(
          '',
          `also under its former ${formerly.length === 1 ? 'name' : 'names'} ${formerly.join(', ')}, and as ${name}`,
        )
      : []),
    ...(kind === 'external' ? line('recovery', recovery(effect)) : []),
    ...line('budget', budget.text),
    ...line('attempt', `at most ${durationInWords(timeoutMs)}${leaseMs === undefined ? '' : lease(effect)}`),
    ...(supersedes ? line('supersede', 'an older state that arrives late does nothing and ends as stale') : []),
    ...listed('after a crash', effect.whatFinishes.length > 0 ? effect.whatFinishes : ['NOTHING finishes the work']),
  ];
}

function describePublications({ publications, namespace, ledger }: CheckReport): string[] {
  if (!publications) {
    return ['', 'none: events are received here and none is sent, so nothing needs a publication identity'];
  }
  const { publicationIdentity, eventIdentity, types, whatFinishes } = publications;
  const publishing = ledger?.publishing;
  return [
    '',
    `${counted(types.length, 'type')} · a delivery for each endpoint that subscribes, by its own schedule, else by that of the type`,
    ...line('publication identity', `${publicationIdentity.from} → ${publicationIdentity.workflowId}`),
    ...line('event identity', `${eventIdentity.header}: ${eventIdentity.from}; one for all attempts and all endpoints`),
    ...line('memory', memory(types, namespace?.retentionMs ?? undefined)),
    ...listed('types', types.map(describeType)),
    ...(publishing ? line('endpoints', endpoints(publishing)) : []),
    ...listed(
      'after a crash',
      whatFinishes.map(({ finishes }) => finishes),
    ),
  ];
}

function describeType({ type, maximumAttempts, scheduleMs, maximumElapsedMs }: CheckedType): string {
  const attempts =
    maximumAttempts === 1 ? 'one attempt' : `${maximumAttempts} attempts over ${durationInWords(scheduleMs)}`;
  return `${type} → ${attempts}, given up after ${durationInWords(maximumElapsedMs)}`;
}

/** A namespace forgets closed workflows only, so what is under way is safe, however short its retention. */
function memory(types: readonly CheckedType[], retentionMs: number | undefined): string {
  const forGood = 'the ledger recognises what was published, and how it ended, for good';
  if (retentionMs === undefined) return forGood;
  const budgetMs = Math.max(...types.map(({ maximumElapsedMs }) => maximumElapsedMs));
  const shorter =
    retentionMs < budgetMs
      ? `. That is less than the budget of ${durationInWords(budgetMs)}, and harmless: what is under way is not forgotten, and of what has ended the ledger's row answers`
      : '';
  return `${forGood}; Temporal remembers a delivery for ${durationInWords(retentionMs)} after its end${shorter}`;
}

function endpoints({ endpoints: all, disabled, failing }: CheckedPublishing): string {
  const some = [...(disabled > 0 ? [`${disabled} disabled`] : []), ...(failing > 0 ? [`${failing} failing`] : [])];
  return [String(all), ...some].join(', ');
}

function recovery({ recovery: declared }: CheckedEffect): string {
  if (!declared) return 'none';
  const settle =
    declared.settleAfterMs === undefined
      ? ''
      : `, absent believed ${durationInWords(declared.settleAfterMs)} after the lease`;
  if (declared.kind === 'park') return 'park: a person decides';
  if (declared.kind === 'reconcile') return `reconcile: the recipient is asked${settle}`;
  const later = declared.asks ? `, then reconcile${settle}` : ', then park';
  return `forwardsKey, valid for ${durationInWords(declared.validForMs ?? 0)} from the first claim${later}`;
}

function lease({ leaseMs, heartbeatMs }: CheckedEffect): string {
  const beats = heartbeatMs === undefined ? '' : `, renewed every ${durationInWords(heartbeatMs)}`;
  return `, its lease ${durationInWords(leaseMs ?? 0)}${beats}`;
}

function describeServers({ namespace, ledger, leftOut }: CheckReport): string[] {
  const retention = namespace?.retentionMs == null ? 'no end of it is told' : durationInWords(namespace.retentionMs);
  return [
    '',
    ...(namespace
      ? [
          ...line('namespace', namespace.namespace),
          ...line('retention', retention),
          ...line('search attributes', namespace.searchAttributes.join(', ') || 'none'),
        ]
      : []),
    ...(ledger ? line('ledger', ledger.schema) : []),
    ...(leftOut.length > 0 ? line('not checked', leftOut.join(', ')) : []),
  ];
}

function summary({ sources, effects, publications, problems, warnings, notes, leftOut }: CheckReport): string {
  const found =
    problems + warnings + notes === 0
      ? 'nothing found'
      : [
          counted(problems, 'problem'),
          counted(warnings, 'warning'),
          ...(notes > 0 ? [counted(notes, 'note')] : []),
        ].join(', ');
  const received = [counted(sources.length, 'source'), counted(effects.length, 'effect')];
  const checked = publications
    ? `${received.join(', ')} and ${counted(publications.types.length, 'published type')} checked`
    : `${received.join(' and ')} checked`;
  return `${checked}${leftOut.length > 0 ? ', servers left out' : ''}: ${found}`;
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** One entry a line, the label beside the first. */
function listed(label: string, entries: readonly string[]): string[] {
  return entries.flatMap((entry, index) => wrap(`${start(index === 0 ? label : '')}· `, entry, labelWidth + 2));
}

function start(label: string): string {
  return `  ${label.padEnd(labelWidth - 2)}`;
}

function line(label: string, text: string): string[] {
  return wrap(start(label), text, labelWidth);
}

/** Breaks text between words; the lines after the first are indented. A word that is too long stands alone. */
function wrap(start: string, text: string, indent: number): string[] {
  const lines: string[] = [];
  let current = start;
  let isEmpty = true;
  for (const word of text.split(' ')) {
    if (!isEmpty && current.length + 1 + word.length > width) {
      lines.push(current);
      current = ' '.repeat(indent);
      isEmpty = true;
    }
    current += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, current];
}
