import { randomUUID } from 'node:crypto';
import type { TakenEvent } from '../effects/effect.js';
import type { Source } from '../sources/define-source.js';

/** What a test may say of an event beside its type and data. */
export interface TestEventDetails {
  /** The provider's event id. Default: a fresh one. */
  readonly id?: string;
  /** The provider's event time. Default: none. */
  readonly occurredAt?: Date;
}

/** An event as a test names it: its data are what the provider sends, before the schema has judged them. */
export type TestEvent<Takes extends TakenEvent = TakenEvent> = Takes & TestEventDetails;

/** An id that no other event of the test run has. */
export function freshEventId(): string {
  return `evt_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
}

/**
 * The JSON text of an event in the form that its source reads: the data alone, or in the envelope of a source whose schemas
 * describe a part of the body.
 */
export function eventText(source: Source, { type, data, occurredAt }: TestEvent): string {
  const probe = {};
  // Presets say where the data are by reading them, so a body in which they are found is one that fits.
  const isEnveloped = source.preset.dataOf({ data: probe }) === probe;
  const envelope = { type, ...(occurredAt === undefined ? {} : { timestamp: occurredAt.toISOString() }), data };
  const text = JSON.stringify(isEnveloped ? envelope : data);
  if (text === undefined) throw new TypeError(`the data of '${type}' are nothing that JSON can hold`);
  return text;
}
