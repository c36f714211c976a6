import type { DeadLetter } from '../operations/dead-letters/list-dead-letters.js';

/** A dead letter as the admin API answers it, what it is of named by its kind. */
export function deadLetterAnswer<Letter extends DeadLetter>({ name, key, ...letter }: Letter): object {
  return letter.kind === 'event'
    ? { ...letter, event: name, eventKey: key }
    : { ...letter, publication: name, deliveryKey: key };
}
