import { ledgerNames } from '../effects/catalogue.js';
import { closeParked } from '../ledger/close-parked.js';
import { parkUnknown } from '../ledger/park-unknown.js';
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
  readonly letter: RecordDeadLetterArgument;
}

/** Makes the activity that parks what is still unknown, and puts its event among the dead letters as parked. */
export function createRecordParked(deps: ActivityDependencies) {
  return async function recordParked(argument: RecordParkedArgument): Promise<{ readonly parked: boolean }> {
    const { event, letter } = argument;
    const { database, schema } = deps.ledger;
    const parked = await parkUnknown(database.query, schema, {
      tenant: event.tenant,
      names: namesOf(deps, argument.effect),
      businessKey: argument.businessKey,
    });
    if (parked && (await writeParked(database.query, schema, { ...event, ...letter }))) {
      deps.metrics.deadLetters.inc({ code: letter.code });
    }
    return { parked };
  };
}

/** Makes the activity that looks whether an effect still waits for a person. */
export function createLookAtParked(deps: ActivityDependencies) {
  return async function lookAtParked({ event, effect, businessKey }: ParkedRef): Promise<{ readonly parked: boolean }> {
    const { database, schema } = deps.ledger;
    const { tenant, eventKey } = event;
    const names = namesOf(deps, effect);
    return { parked: await closeParked(database.query, schema, { tenant, eventKey, names, businessKey }) };
  };
}

/** An effect that this worker does not have was parked by one that has it, under that name. */
function namesOf({ catalogue }: ActivityDependencies, name: string): readonly string[] {
  const effect = catalogue.effect(name);
  return effect ? ledgerNames(effect) : [name];
}
