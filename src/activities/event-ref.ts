import type { ProcessEventInput } from '../workflows/contract.js';

/** The event that an activity works for; small, since every regular activity writes its argument into the history. */
export interface EventRef
  extends Pick<ProcessEventInput, 'tenant' | 'source' | 'id' | 'type' | 'digest' | 'receivedAt' | 'occurredAt'> {
  readonly eventKey: string;
}
