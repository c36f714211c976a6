/**
 * Text as PostgreSQL takes it: NUL, which no text column holds, becomes the replacement character. For what others wrote
 * and people read, such as messages and reasons; identities with NUL are refused long before.
 */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}
