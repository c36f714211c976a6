import { shellWord } from './shell-word.js';
import type { TracedEffect, TracedEvent, TracedPublication, ValidAct } from './trace.js';

/** States of a latest run that is over, or of which nothing is left. */
const closed: ReadonlySet<string> = new Set([
  'completed',
  'failed',
  'cancelled',
  'canceled',
  'terminated',
  'timed_out',
  'forgotten',
]);

/** What acts are offered for. */
export interface ActingState {
  readonly events: readonly TracedEvent[];
  readonly publications: readonly TracedPublication[];
}

/**
 * Says which acts are valid now, each with the command to copy; what is not valid is left out. It judges what was gathered,
 * so that an act still looks for itself when it is carried out.
 */
export function validActs({ events, publications }: ActingState): readonly ValidAct[] {
  const acts = [...events.flatMap(actsOfEvent), ...publications.flatMap(actsOfPublication)];
  return [...new Map(acts.map((act) => [`${act.act} ${act.command ?? act.why}`, act])).values()];
}

function actsOfEvent(event: TracedEvent): ValidAct[] {
  const acts: ValidAct[] = [
    ...event.pauses.map(({ kind, name, tenant, everyTenant }) => {
      const whose = everyTenant ? [] : ['--tenant', tenant];
      return acting('resume', ['resume', kind, name, ...whose], `the ${kind} is paused`);
    }),
    ...event.effects.flatMap((effect) => actsOfEffect(event, effect)),
  ];
  if (event.ledger === 'done') return acts;
  const name = [event.event, ...tenantOf(event)];
  if (event.ledger === 'ignored') {
    const why = 'runs one effect that subscribes to its type by now';
    return [...acts, acting('replay', ['replay', ...name, '--effect', '…'], why, 'the effect')];
  }
  const replay = ['replay', ...name];
  if (event.temporal === 'running') return [...acts, ...actsOfRunning(event, name)];
  if (closed.has(event.temporal)) {
    acts.push(acting('replay', replay, 'runs what is not done; what is done stays done'));
    if (event.ledger !== 'abandoned') {
      acts.push(acting('abandon', ['abandon', ...name], 'gives it up, and closes its dead letter'));
    }
  } else if (event.ledger === 'dead_lettered' || event.ledger === 'abandoned') {
    acts.push(acting('replay', replay, 'once Temporal answers: runs what is not done'));
  }
  return acts;
}

function actsOfRunning(event: TracedEvent, name: readonly string[]): ValidAct[] {
  const steps = event.runs.at(-1)?.steps ?? [];
  const pausing = steps.some(({ what, text }) => what === 'pause' && text.startsWith('pausing until'));
  const waitsForPerson = event.effects.some(({ claim }) => claim?.state === 'parked');
  const free = !waitsForPerson && event.pauses.length === 0;
  return [
    ...(pausing && free ? [acting('retry_now', ['retry-now', ...name], 'ends its pause between two attempts')] : []),
    ...(pausing || waitsForPerson ? [] : [{ act: 'wait' as const, why: `${event.event} is being processed` }]),
    acting('abandon', ['abandon', ...name], 'gives it up; what is done stays done'),
  ];
}

function actsOfEffect(event: TracedEvent, { effect, businessKey, claim }: TracedEffect): ValidAct[] {
  if (!claim || claim.state === 'done') return [];
  const acts: ValidAct[] = [];
  if (claim.leaseRunning) {
    const until = claim.leaseUntil?.toISOString();
    acts.push({
      act: 'wait',
      why: `an attempt for ${claim.event} has a lease on ${effect} ${businessKey} until ${until}`,
    });
  } else if (claim.state === 'parked' || (claim.leaseUntil === null && claim.state === 'claimed')) {
    const said = ['resolve', effect, businessKey, ...tenantOf(event)];
    const absent = 'the recipient has no trace of it, and never will: it is performed anew';
    acts.push(
      acting('resolve', [...said, '--done', '…'], 'the recipient has it: it happened', 'its result as JSON, or null'),
      acting('resolve', [...said, '--absent'], absent),
    );
  }
  if (claim.eventKey !== event.eventKey) {
    const command = commandOf(['trace', claim.event, ...tenantOf(event)]);
    acts.push({ act: 'trace', command, why: `that event's attempt holds ${effect} ${businessKey}` });
  }
  return acts;
}

function actsOfPublication({ tenant, publication, deliveries }: TracedPublication): ValidAct[] {
  return deliveries.flatMap(({ endpoint, endpointState, state }): ValidAct[] => {
    const whose = tenantOf({ tenant });
    const waits = state === 'queued' || state === 'started';
    const why = `${publication} is held while the endpoint is ${endpointState}`;
    if (waits && endpointState === 'paused') return [acting('resume', ['resume', 'endpoint', endpoint, ...whose], why)];
    if (waits && endpointState === 'disabled') {
      return [acting('enable', ['endpoints', 'enable', endpoint, ...whose], why)];
    }
    if (state === 'started') {
      const words = ['deliveries', 'abandon', publication, endpoint, ...whose];
      return [acting('abandon', words, 'gives this delivery up')];
    }
    if (state !== 'dead_lettered' && state !== 'abandoned') return [];
    const words = ['replay', '--publication', publication, '--endpoint', endpoint, ...whose];
    return [acting('replay', words, 'sends it again, under the same webhook-id')];
  });
}

function acting(act: ValidAct['act'], words: readonly string[], why: string, asks?: string): ValidAct {
  const command = `${commandOf(words)} --reason '…'`;
  return { act, command, words, why, ...(asks === undefined ? {} : { asks }) };
}

function commandOf(words: readonly string[]): string {
  return ['onefold', ...words].map(shellWord).join(' ');
}

function tenantOf({ tenant }: { readonly tenant: string }): readonly string[] {
  return tenant === '' ? [] : ['--tenant', tenant];
}
