import { OnefoldError } from '../../errors.js';

const kinds = ['event', 'delivery'] as const;

/** What dead letters are of. */
export type DeadLetterKind = (typeof kinds)[number];

/**
 * Reads which kind is asked for: the one that is named, or the one that alone has what else is asked for. The ledger holds an
 * event's source and a delivery's endpoint in one column, so that a filter of the other kind would find what nobody meant.
 *
 * @returns Undefined for both.
 * @throws {OnefoldError} `request_invalid` for a kind that is none, and for filters that no letter can fit together.
 */
export function readKind(
  kind: string | undefined,
  only: Readonly<Record<DeadLetterKind, Readonly<Record<string, unknown>>>> = { event: {}, delivery: {} },
): DeadLetterKind | undefined {
  if (kind !== undefined && !kinds.includes(kind as DeadLetterKind)) {
    throw new OnefoldError('request_invalid', `kind: expected one of ${kinds.join(', ')}`);
  }
  let read = kind as DeadLetterKind | undefined;
  for (const of of kinds) {
    for (const [name, value] of Object.entries(only[of])) {
      if (value === undefined) continue;
      read ??= of;
      if (read !== of) throw new OnefoldError('request_invalid', `${name}: only dead letters of kind ${of} have one`);
    }
  }
  return read;
}
