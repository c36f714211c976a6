/**
 * Decodes standard base64, strictly: Node's own decoder skips what it does not know, so that `!!!!` becomes an empty
 * key. Padding may be left out, which is harmless; any other spelling that does not encode to the same text is refused,
 * so that one content has one text.
 *
 * @returns undefined for anything else.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  const canonical = bytes.toString('base64');
  return text === canonical || text === canonical.replace(/=+$/, '') ? bytes : undefined;
}
