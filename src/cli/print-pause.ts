import type { ShownPause } from '../operations/pauses/pause-wish.js';
import { plainLine } from './endpoints/plain-line.js';

/** What is paused: `effect ship-order of tenant acme`. */
export function pausedInWords({ kind, name, tenant }: Pick<ShownPause, 'kind' | 'name' | 'tenant'>): string {
  const whose = tenant === undefined ? '' : tenant === '' ? ' of events without a tenant' : ` of tenant ${tenant}`;
  return `${kind} ${name}${whose}`;
}

/** How many events have it before them. */
export function eventsInWords(waiting: number): string {
  return waiting === 1 ? '1 open event has it before it' : `${waiting} open events have it before them`;
}

/** Who paused it, when and why. */
export function madeBy({ since, by, reason }: ShownPause): string {
  return `at ${since.toISOString()}, by ${plainLine(by)}: ${plainLine(reason)}`;
}
