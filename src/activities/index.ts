import { createAttemptEffect } from './attempt-effect.js';
import type { ActivityDependencies } from './dependencies.js';
import { createPlanEvent } from './plan-event.js';
import { createReadEffectEnds, createRecordAbandon, createWasActCarriedOut } from './record-abandon.js';
import { createLookAtParked, createRecordParked } from './record-parked.js';
import { createSweepClosedEvents } from './sweep-closed-events.js';
import { createRecordDeadLetter } from './write-dead-letter.js';

/** Joins the activities over their dependencies; workflows see them through this function's type alone. */
export function createActivities(deps: ActivityDependencies) {
  return {
    planEvent: createPlanEvent(deps),
    attemptEffect: createAttemptEffect(deps),
    recordDeadLetter: createRecordDeadLetter(deps),
    recordParked: createRecordParked(deps),
    lookAtParked: createLookAtParked(deps),
    recordAbandon: createRecordAbandon(deps),
    wasActCarriedOut: createWasActCarriedOut(deps),
    readEffectEnds: createReadEffectEnds(deps),
    sweepClosedEvents: createSweepClosedEvents(deps),
  };
}

/** The activities as the workflows call them. */
export type Activities = ReturnType<typeof createActivities>;
