// The entry of the workflow bundle; only the worker names its path.
export { deliverPublication } from './deliver-publication.js';
export { processEvent } from './process-event.js';
export { sweepClosedEvents } from './sweep-closed-events.js';
