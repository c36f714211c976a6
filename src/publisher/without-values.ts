/** Shorter values stand in too many texts by chance, and guard nothing. */
const shortestLength = 6;

/** What stands in the place of a value. */
const mark = '[header]';

/**
 * A response's text without the values of the endpoint's own headers, which a receiver may send back: they are kept sealed,
 * and must not stand in the history in clear. A value that the text's own end cuts in two goes as well.
 *
 * @param values Of the headers; of `Bearer …` and the like the credential alone is looked for too.
 */
export function withoutValues(text: string, values: readonly string[]): string {
  const parts = values.flatMap((value) => [value, ...value.split(' ').slice(1)]);
  let clean = text;
  for (const part of parts.sort((one, other) => other.length - one.length)) {
    if (part.length < shortestLength) continue;
    clean = clean.replaceAll(part, mark);
    const cut = cutLength(clean, part);
    if (cut > 0) clean = clean.slice(0, -cut) + mark;
  }
  return clean;
}

/** The longest beginning of a value that the text ends with. */
function cutLength(text: string, value: string): number {
  for (let length = value.length - 1; length >= shortestLength; length--) {
    if (text.endsWith(value.slice(0, length))) return length;
  }
  return 0;
}
