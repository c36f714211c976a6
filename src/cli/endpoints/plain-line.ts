/**
 * Text that others wrote, fit for one line of a terminal: control characters could move its cursor or change what stands
 * there already.
 */
export function plainLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').trim();
}
