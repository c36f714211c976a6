/**
 * Joins the values that identify an event together into one text. Different lists of one length never give one text:
 * several parts are joined by `:` with `%` and `:` escaped in each. A single part stays as it is, since it is the
 * provider's own identity, which people paste and search for. A source whose identities differ in their number of parts
 * therefore escapes its single ones with {@link escapePart}.
 */
export function joinParts(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : parts.map(escapePart).join(':');
}

/** One part without `:`, one to one. */
export function escapePart(part: string): string {
  return part.replace(/[%:]/g, (char) => (char === '%' ? '%25' : '%3A'));
}
