// The entry of the workflow bundle; only the worker names its path.
export { processEvent } from './process-event.js';
export { sweepClosedEvents } from './sweep-closed-events.js';
