import { ledgerNames } from '../effects/catalogue.js';
import { closeParked, type LookedAtParked } from '../ledger/close-parked.js';
import { type GivenUpClaim, parkUnknown } from '../ledger/park-unknown.js';
import { readClaim } from '../ledger/read-claim.js';
import { writeParked } from '../ledger/write-parked.js';
import type { ActivityDependencies } from './dependencies.js';
import type { EventRef } from './event-ref.js';
import type { RecordDeadLetterArgument } from './write-dead-letter.js';

/** The parked effect of an event, as its activities name it. */
export interface ParkedRef {
  readonly event: EventRef;
  readonly effect: string;
  readonly businessKey: string;
}

/** The argument of the `recordParked` activity. */
export interface RecordParkedArgument extends ParkedRef {
  /** Written where it is parked. */
  readonly letter: RecordDeadLetterArgument;
  /** It was found parked: where it no longer is, whoever has it now is left alone. */
  readonly foundParked?: true;
  /** Only a doubt that the event's own attempts have left is a reason to park. */
  readonly ownDoubtOnly?: true;
}

/** What the `recordParked` activity answers. */
export type RecordParkedAnswer =
  | GivenUpClaim
  /** It was found parked, and a person has spoken since. */
  | { readonly state: 'resolved' };

/** Makes the activity that parks what is still unknown, and puts its event among the dead letters as parked. */
export function createRecordParked(deps: ActivityDependencies) {
  return async function recordParked(argument: RecordParkedArgument): Promise<RecordParkedAnswer> {
    const { event, letter } = argument;
    const { database, schema } = deps.ledger;
    const claim = await claimOf(deps, argument);
    if (claim.state === 'parked' && (await writeParked(database.query, schema, { ...event, ...letter }))) {
      deps.metrics.deadLetters.inc({ code: letter.code });
    }
    return claim;
  };
}

async function claimOf(deps: ActivityDependencies, argument: RecordParkedArgument): Promise<RecordParkedAnswer> {
  const { event, effect, businessKey, foundParked, ownDoubtOnly } = argument;
  const { database, schema } = deps.ledger;
  const identity = { tenant: event.tenant, names: namesOf(deps, effect), businessKey };
  if (!foundParked) return parkUnknown(database.query, schema, identity, ownDoubtOnly ? event.eventKey : undefined);
  const claim = await readClaim(database.query, schema, identity);
  return { state: claim?.state === 'parked' ? 'parked' : 'resolved' };
}

/** Makes the activity that looks whether an effect still waits for a person, and whether its event is listed so. */
export function createLookAtParked(deps: ActivityDependencies) {
  return async function lookAtParked({ event, effect, businessKey }: ParkedRef): Promise<LookedAtParked> {
    const { database, schema } = deps.ledger;
    const { tenant, eventKey } = event;
    return closeParked(database.query, schema, { tenant, eventKey, names: namesOf(deps, effect), businessKey });
  };
}

/** An effect that this worker does not have was parked by one that has it, under that name. */
function namesOf({ catalogue }: ActivityDependencies, name: string): readonly string[] {
  const effect = catalogue.effect(name);
  return effect ? ledgerNames(effect) : [name];
}
