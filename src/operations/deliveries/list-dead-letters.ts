import type { ListedDeadLetter } from '../../ledger/dead-letters/list-dead-letters.js';

/** The dead letter of a delivery. */
export interface DeliveryDeadLetter {
  readonly tenant: string;
  readonly endpoint: string;
  readonly publication: string;
  readonly deliveryKey: string;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  /** The reason of every attempt that was kept, of the latest run. */
  readonly reasons: unknown;
  /** How often it ended so since it was opened. */
  readonly occurrences: number;
  readonly openedAt: Date;
  readonly lastAt: Date;
  /** Who looks after it, and what they found. */
  readonly owner?: string;
  readonly note?: string;
  readonly closedAt?: Date;
  readonly closedBy?: string;
}

/** A dead letter in the words of deliveries. */
export function deliveryDeadLetter(letter: ListedDeadLetter): DeliveryDeadLetter {
  const { id: _id, kind: _kind, runs: _runs, parked: _parked, key, source, of, reasons, ...rest } = letter;
  return { ...rest, endpoint: source, publication: of, deliveryKey: key, reasons: JSON.parse(reasons) as unknown };
}
