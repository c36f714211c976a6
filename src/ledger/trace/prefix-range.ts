/**
 * Where the texts lie that begin with a prefix, by bytes, as an index of text_pattern_ops orders them: for `~>=~` and `~<~`.
 * Unlike LIKE it knows no wildcards, and finds its index in a prepared plan too.
 */
export function prefixRange(prefix: string): readonly [from: string, to: string] {
  // No text goes on with a character above the last one of Unicode.
  return [prefix, `${prefix}\u{10ffff}`];
}
