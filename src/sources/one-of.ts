import { OnefoldError } from '../errors.js';

/** @throws {OnefoldError} `config_invalid` naming the place for anything but one of the values. */
export function oneOf<const Value extends string>(value: unknown, values: readonly Value[], place: string): Value {
  if (values.includes(value as Value)) return value as Value;
  throw new OnefoldError(
    'config_invalid',
    `${place}: expected ${values.map((known) => `'${known}'`).join(' or ')}, got ${JSON.stringify(value)}`,
  );
}
