import { InvalidArgumentError } from 'commander';

/**
 * Reads a duration that an option gives, as commander's parser: with its unit. To the library a number alone is one of ms,
 * which nobody at a terminal means by `--overlap 24`. What the duration says is judged where it is used; 0 is the same in
 * every unit.
 */
export function withUnit(text: string): string {
  const number = text.trim();
  if (number !== '' && (Number.isNaN(Number(number)) || Number(number) === 0)) return text;
  const example = number === '' ? '30' : number;
  throw new InvalidArgumentError(`expected a duration with its unit, such as ${example}s, ${example}m or ${example}h`);
}
