import { headerLines } from '../sources/read-header.js';
import type { HeaderMap } from '../sources/source.js';

/** A header as one text, several lines joined as HTTP says, '' where it is absent. */
export function headerText(headers: HeaderMap, name: string): string {
  return headerLines(headers, name).join(', ');
}
